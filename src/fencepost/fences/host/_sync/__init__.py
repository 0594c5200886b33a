# Generated from src/fencepost/fences/host/_async/__init__.py by tools/unasync.py. Do not edit: run `make gen`.
