# Generated from tests/session/_async/__init__.py by tools/unasync.py. Do not edit: run `make gen`.
