"""``biaslib train``: continue the training of a model."""

import os
import sys
from pathlib import Path

from biaslib import scoring, training

_NOT_FOR_TRAINING = ("command", "action", "model", "texts", "head", "device", "anew")


def add_arguments(commands):
    command = commands.add_parser(
        "train",
        help="continue the training of a masked language model on texts",
        description="Continue the training of a masked language model on texts, and save it to FOLDER together "
        "with its held-out losses (training.csv). Rerun the command to resume an interrupted training.",
        epilog="To train on several GPUs: accelerate launch --num_processes 4 -m biaslib train MODEL TEXT --out "
        "FOLDER. Each step then takes --batch-size blocks from every process.",
        allow_abbrev=False,
    )
    command.add_argument("model", metavar="MODEL", help="a Hugging Face id, a folder, or demo")
    command.add_argument(
        "texts", metavar="TEXT", nargs="+", help="files (.txt, .jsonl, .csv, also .gz), folders or embedded samples"
    )
    command.add_argument("--out", required=True, metavar="FOLDER", help="folder for the trained model")
    command.add_argument(
        "--text-column", default="text", metavar="NAME", help="field or column that holds the text (default: text)"
    )
    command.add_argument("--epochs", type=int, default=3, metavar="N", help="passes over the texts (default: 3)")
    command.add_argument(
        "--block-size", type=int, metavar="N", help="tokens per block (default: 512, or the model's limit)"
    )
    command.add_argument(
        "--batch-size", type=int, default=8, metavar="N", help="blocks per step and process (default: 8)"
    )
    command.add_argument(
        "--mask-probability", type=float, default=0.15, metavar="P", help="share of tokens to mask (default: 0.15)"
    )
    command.add_argument("--whole-word-masking", action="store_true", help="mask whole words rather than tokens")
    command.add_argument(
        "--learning-rate", type=float, default=2e-5, metavar="X", help="peak learning rate (default: 2e-5)"
    )
    command.add_argument(
        "--weight-decay", type=float, default=0.01, metavar="X", help="weight decay of AdamW (default: 0.01)"
    )
    command.add_argument(
        "--held-out", type=float, default=0.1, metavar="P", help="share of documents to hold out (default: 0.1)"
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the split, order, masks and dropout (default: 0)"
    )
    command.add_argument(
        "--save-every", type=int, default=500, metavar="N", help="steps between checkpoints (default: 500)"
    )
    command.add_argument(
        "--head", default="keep", help="new: initialise the head that the checkpoint lacks (default: keep)"
    )
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: auto)")
    command.add_argument("--anew", action="store_true", help="start over instead of resuming")
    command.set_defaults(action=_train)


def _train(arguments):
    options = {name: value for name, value in vars(arguments).items() if name not in _NOT_FOR_TRAINING}
    lm = scoring.load_masked_lm(arguments.model, device=training.own_device(arguments.device), head=arguments.head)
    texts = [Path(text) for text in arguments.texts]
    folder = training.continue_pretraining(
        lm, texts, resume=not arguments.anew, progress=sys.stderr.isatty(), **options
    )
    if os.environ.get("RANK", "0") == "0":
        held_out = training.read_training(folder).query("split == 'held_out'")
        before, after = held_out.loss.iloc[[0, -1]]
        print(f"Held-out loss: {before:.3f} before, {after:.3f} after ({held_out.n_tokens.iloc[0]} tokens)")
        print(f"Model: {folder}")
    return 0
