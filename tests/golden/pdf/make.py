"""The PDF files of tests/retrieval/corpus/pdf.rs: pip install fpdf2 pypdf cryptography pillow font-roboto; python make.py

text.pdf has a font of its own on its first page (letters by glyph number, with a map to Unicode) and one that every
reader must bring on the second; encrypted.pdf is the same behind a password; picture.pdf has a picture and no letter.
"""

import pathlib

import font_roboto
from fpdf import FPDF
from PIL import Image
from pypdf import PdfReader, PdfWriter

HERE = pathlib.Path(__file__).parent
FIRST = (
    "The bridge over the Elde opened in May 1932, after nine years of work. Its offi\u00adcial name is Brücke der "
    "Einheit – few use it."
)
SECOND = "The council closed it in 1998."

pdf = FPDF()
pdf.set_title("The bridge & the town")
pdf.add_font("Roboto", fname=pathlib.Path(font_roboto.__file__).parent / "files" / "Roboto-Regular.ttf")
pdf.add_page()
pdf.set_font("Roboto", size=12)
pdf.multi_cell(60, 6, FIRST, align="L")
pdf.ln(20)
pdf.multi_cell(0, 6, "A second paragraph.")
pdf.add_page()
pdf.set_font("Times", size=12)
pdf.cell(text=SECOND)
pdf.output(str(HERE / "text.pdf"))

writer = PdfWriter(clone_from=PdfReader(HERE / "text.pdf"))
writer.encrypt("secret", algorithm="AES-256")
writer.write(HERE / "encrypted.pdf")

picture = FPDF()
picture.add_page()
picture.image(Image.new("RGB", (8, 8), "grey"), 10, 10, 20, 20)
picture.output(str(HERE / "picture.pdf"))
