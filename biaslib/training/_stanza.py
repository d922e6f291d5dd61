"""stanza's coreference model, built on any encoder."""

import logging
import random
from contextlib import contextmanager
from typing import NamedTuple

from biaslib.scoring.models import quiet_transformers

# The values of stanza and the paper; the window is shortened to the limit of the encoder.
RESOLVER_SETTINGS = {
    "bert_window_size": 512,
    "embedding_size": 20,
    "sp_embedding_size": 64,
    "n_hidden_layers": 1,
    "dropout_rate": 0.3,
    "rough_k": 50,
    "a_scoring_batch_size": 256,
    "bce_loss_weight": 0.5,
    "max_span_len": 64,
    "full_pairwise": True,
    "bert_finetune": True,
    "singletons": False,
    "clusters_starts_are_singletons": False,
    "use_zeros": False,
}
# The configuration of stanza has no defaults; these have no effect here.
_UNUSED = dict.fromkeys(["data_dir", "save_dir", "save_name", "train_data", "dev_data", "test_data"], "")
_UNUSED |= {"section": "biaslib", "conll_log_dir": "", "lang_lr_attenuation": "", "lang_lr_weights": ""}
_UNUSED |= {"learning_rate": 0.0, "bert_learning_rate": 0.0, "bert_finetune_begin_epoch": 0.0, "train_epochs": 0}
_UNUSED |= {"plateau_epochs": 0, "max_train_len": 0, "save_each_checkpoint": False, "log_norms": False}
_UNUSED |= {"lora": False, "lora_alpha": 0, "lora_rank": 0, "lora_dropout": 0.0, "tokenizer_kwargs": {}}
_UNUSED |= {"lora_target_modules": [], "lora_modules_to_save": []}
ENCODER, LAYERS, ABOUT = "encoder", "layers.safetensors", "resolver.json"
_COREF_EXTRA = "install it with pip install 'biaslib[coref,units]'"


class Piece(NamedTuple):
    """Consecutive words of a part of a document in stanza's form; `first` is the position of the first one."""

    key: tuple[str, int]
    first: int
    content: dict


def coref_model():
    try:
        import stanza.models.coref.model as core
    except ImportError as error:
        raise ModuleNotFoundError(f"stanza cannot be imported ({error}); {_COREF_EXTRA}") from None
    return core


def build_model(core, encoder, settings, device):
    """Build stanza's model on an encoder in a folder, in evaluation mode."""
    config = core.Config(**_UNUSED, **settings, bert_model=str(encoder), device=device)
    model = core.CorefModel(config=config, build_optimizers=False)
    # A name with "t5" in it is run as a T5, and the name of the folder may have it.
    config.bert_model = ENCODER
    return model


def load_weights(core, folder, settings, device):
    """Build stanza's model with the weights in a folder."""
    from safetensors.torch import load_file

    with quiet_stanza():
        model = build_model(core, folder / ENCODER, settings, device)
    layers = load_file(folder / LAYERS, device=str(model.config.device))
    for name, module in new_layers(model).items():
        start = f"{name}."
        module.load_state_dict(
            {key.removeprefix(start): value for key, value in layers.items() if key.startswith(start)}
        )
    return model


def new_layers(model):
    return {name: module for name, module in model.trainable.items() if name != "bert"}


def run_model(model, content, window):
    """Run the model on a piece, with no more padding than needed."""
    model.config.bert_window_size = min(window, len(content["subwords"]) + 2)
    return model.run(content)


def fit(model, contents, epochs, seed, rates, progress):
    """Train on pieces, one per step; return the mean loss of each epoch."""
    import torch
    from stanza.models.coref.loss import CorefLoss
    from tqdm import tqdm

    link_loss = CorefLoss(model.config.bce_loss_weight)
    end_loss = torch.nn.CrossEntropyLoss(reduction="sum")
    mean_mentions = sum(len(content["head2span"]) for content in contents) / len(contents)
    window, n_steps = model.config.bert_window_size, epochs * len(contents)
    layers = [parameter for module in new_layers(model).values() for parameter in module.parameters()]
    groups = [{"params": model.bert.parameters(), "lr": rates[0]}, {"params": layers, "lr": rates[1]}]
    optimizer = torch.optim.Adam(groups, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    order, shuffled, losses = list(range(len(contents))), random.Random(seed), []
    model.training = True
    with tqdm(total=n_steps, disable=not progress, unit="step") as bar:
        for epoch in range(epochs):
            shuffled.shuffle(order)
            total = 0.0
            for number in order:
                optimizer.zero_grad()
                result = run_model(model, contents[number], window)
                loss = link_loss(result.coref_scores, result.coref_y)
                if result.span_y:
                    ends = (end_loss(result.span_scores[:, :, side], result.span_y[side]) for side in (0, 1))
                    loss = loss + sum(ends) / mean_mentions / 2
                if not torch.isfinite(loss):
                    raise ValueError(f"the loss in epoch {epoch + 1} is not finite; use lower learning rates")
                loss.backward()
                optimizer.step()
                schedule.step()
                total += loss.item()
                bar.update()
            losses.append(total / len(contents))
            bar.set_postfix(loss=f"{losses[-1]:.4f}")
    model.training = False
    model.config.bert_window_size = window
    return losses


@contextmanager
def seeded(seed, device):
    """Draw from a seed, leaving the caller's random numbers unchanged."""
    import torch

    devices = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def quiet_stanza():
    """Keep the loading messages of stanza and transformers out of a notebook."""
    logger = logging.getLogger("stanza")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with quiet_transformers():
            yield
    finally:
        logger.setLevel(level)
