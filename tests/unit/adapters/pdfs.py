"""PDFs made by hand or by pypdf, for tests of the readers."""

import io

from pypdf import PdfWriter


def pdf(*pages: str | None, title: str | None = None) -> bytes:
    """A PDF with a text on each page; None for a page that holds only an image."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(pages))), len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (%s) >>" % (title or "").encode(),
    ]
    for number, text in enumerate(pages):
        drawn = _image() if text is None else b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode()
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (6 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
    return _file(objects)


def encrypted(content: bytes) -> bytes:
    """The PDF behind a password."""
    writer = PdfWriter(clone_from=io.BytesIO(content))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _image() -> bytes:
    return b"q 100 0 0 100 72 600 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"


def _file(objects: list[bytes]) -> bytes:
    content = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"<< /Size %d /Root 1 0 R /Info 4 0 R >>" % (len(objects) + 1)
    return content + b"trailer\n%s\nstartxref\n%d\n%%%%EOF" % (trailer, table)
