"""transformers' Trainer, with batches and masks that a restart finds again."""

import copy
import random
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from biaslib import scoring
from biaslib.training._masking import NOT_ASKED, TrainingBlocks, collate, make_masking
from biaslib.training._recorder import Recorder


def training_arguments(lm, settings, work, save_every):
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(work),
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=settings["batch_size"],
        learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        lr_scheduler_type="linear",
        seed=settings["seed"],
        save_strategy="steps",
        save_steps=save_every,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        use_cpu=lm.device.startswith("cpu"),
    )
    if arguments.world_size == 1:
        if lm.device.startswith("cuda") and lm.device != str(arguments.device):
            raise ValueError(
                f"the model is on {lm.device}, but training uses {arguments.device}, the first visible GPU; load the "
                "model there, or set CUDA_VISIBLE_DEVICES"
            )
        # Otherwise the Trainer uses every GPU it sees, with batches as many times larger.
        arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def train_copy(lm, train, held_out, settings, arguments, checkpoint, progress):
    """Train a copy of the model; return it and the seconds that took."""
    import torch
    from torch.utils.data import DataLoader
    from transformers import PrinterCallback, Trainer, TrainerCallback

    class Callback(Recorder, TrainerCallback):
        """A recorder that the Trainer calls."""

    class Training(Trainer):
        """A Trainer that reads the blocks in their own order and averages over masked tokens."""

        def get_train_dataloader(self):
            padded = partial(collate, padding=scoring.pad_id(lm))
            loader = DataLoader(blocks, batch_size=settings["batch_size"], sampler=blocks, collate_fn=padded)
            return self.accelerator.prepare(loader)

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            """Average over the tokens masked in a step, in all processes; there may be none."""
            rows, places = (inputs["labels"] != NOT_ASKED).nonzero(as_tuple=True)
            batch = scoring.Batch(inputs["input_ids"], inputs["attention_mask"], rows, places)
            # The head is the most expensive part of a small model; where possible it runs at masked tokens only.
            with scoring.gathering(copied, batch, gathers) if gathers else nullcontext():
                output = model(input_ids=batch.ids, attention_mask=batch.attention_mask)
            logits = output.logits[:, 0] if gathers else output.logits[rows, places]
            total = torch.nn.functional.cross_entropy(logits, inputs["labels"][rows, places], reduction="sum")
            n_tokens = recorder.add(total.item(), len(rows))
            loss = total * arguments.world_size / max(n_tokens, 1)
            return (loss, output) if return_outputs else loss

    model = copy.deepcopy(lm.model).float()
    blocks = TrainingBlocks(train, make_masking(lm, settings))
    copied = replace(lm, model=model, device=str(arguments.device), dtype="float32")
    gathers = scoring.traits_of(copied).gathers
    recorder = Callback(copied, held_out, blocks, arguments, checkpoint, progress)
    with _own_randomness():
        trainer = Training(model=model, args=arguments, train_dataset=blocks, callbacks=[recorder])
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=str(checkpoint.folder) if checkpoint else None)
    return model, recorder.seconds()


@contextmanager
def _own_randomness():
    """Leave the caller's random numbers as they were: the Trainer seeds all of them."""
    import torch

    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
