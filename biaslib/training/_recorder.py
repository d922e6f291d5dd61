"""What a training writes down while it runs: its losses and its complete checkpoints."""

import math
import time
from pathlib import Path

import pandas as pd

from biaslib._files import write_text
from biaslib.training._checkpoints import mark_complete, wait_for_all
from biaslib.training.held_out import losses_of_blocks, perplexity, read_training

TRAINING_COLUMNS = ("step", "epoch", "split", "loss", "perplexity", "n_tokens")


class Recorder:
    """Callback of the Trainer that records losses, marks checkpoints as complete and keeps count of epochs."""

    def __init__(self, lm, held_out, blocks, arguments, checkpoint, progress):
        known = checkpoint.record if checkpoint else {"step": -1, "seconds": 0.0, "loss_sum": 0.0, "n_tokens": 0}
        self.lm, self.held_out, self.blocks = lm, held_out, blocks
        self.arguments, self.progress = arguments, progress
        self.work, self.is_first = Path(arguments.output_dir), arguments.process_index == 0
        self.rows = _rows_until(self.work, known["step"])
        self.seconds_before, self.started = known["seconds"], time.monotonic()
        # A checkpoint holds the sums over all processes; the first process continues them.
        self.loss_sum, self.n_tokens = (known[key] * self.is_first for key in ("loss_sum", "n_tokens"))

    def seconds(self):
        """Training time, without that of steps lost when a process was killed."""
        return self.seconds_before + time.monotonic() - self.started

    def add(self, loss_sum, n_tokens):
        """Add a step of this process; return the number of tokens masked in the step over all processes."""
        if not math.isfinite(loss_sum):
            raise ValueError("the loss is no longer a finite number; train with a smaller learning_rate")
        self.loss_sum += loss_sum
        self.n_tokens += n_tokens
        return self._over_all(n_tokens)[0]

    def on_train_begin(self, args, state, control, **kwargs):
        from tqdm import tqdm

        shown = self.progress and self.is_first
        self.bar = tqdm(
            total=state.max_steps, initial=state.global_step, desc=self.lm.name, unit="step", disable=not shown
        )
        if not self.rows:
            self._record_held_out(0, 0)

    def on_epoch_begin(self, args, state, control, train_dataloader, **kwargs):
        self.blocks.epoch = state.global_step // len(train_dataloader)

    def on_step_end(self, args, state, control, train_dataloader, **kwargs):
        self.bar.update()
        epoch, rest = divmod(state.global_step, len(train_dataloader))
        if rest == 0:
            loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
            self._record(state.global_step, epoch, "train", loss_sum, n_tokens)
            self.loss_sum, self.n_tokens = 0.0, 0
            self._record_held_out(state.global_step, epoch)

    def on_save(self, args, state, control, **kwargs):
        loss_sum, n_tokens = self._over_all(self.loss_sum, self.n_tokens)
        wait_for_all()
        if self.is_first:
            record = {"seconds": self.seconds(), "loss_sum": loss_sum, "n_tokens": n_tokens}
            mark_complete(self.work, state.global_step, record)

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()

    def _record_held_out(self, step, epoch):
        share = range(self.arguments.process_index, len(self.held_out), self.arguments.world_size)
        losses, _ = losses_of_blocks(self.lm, self.held_out, self.blocks.masking, share)
        self._record(step, epoch, "held_out", *self._over_all(losses.sum(), len(losses)))

    def _record(self, step, epoch, split, loss_sum, n_tokens):
        loss = loss_sum / n_tokens if n_tokens else math.nan
        self.rows.append((step, epoch, split, loss, perplexity(loss), int(n_tokens)))
        self.bar.set_postfix({split: f"{loss:.3f}"})
        if self.is_first:
            frame = pd.DataFrame(self.rows, columns=TRAINING_COLUMNS)
            write_text(self.work / "training.csv", frame.to_csv(index=False, lineterminator="\n"))

    def _over_all(self, *values):
        """Sum values over all processes."""
        import torch

        if self.arguments.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64, device=self.arguments.device)
        torch.distributed.all_reduce(summed)
        return summed.tolist()


def _rows_until(work, step):
    """Read the losses recorded up to a step; later ones will be recorded again."""
    if step < 0:
        return []
    frame = read_training(work)
    return list(frame[frame.step <= step].itertuples(index=False, name=None))
