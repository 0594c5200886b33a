# Generated from src/fencepost/testing/storm/_async/__init__.py by tools/unasync.py. Do not edit: run `make gen`.
