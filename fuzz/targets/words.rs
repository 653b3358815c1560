//! Words of the formats, which mutators put into inputs.

#[rustfmt::skip]
pub(super) const PDF: &[&str] = &[
    "obj", "endobj", "stream\n", "endstream", "<<", ">>", "[", "]", "(", ")", "/Filter", "/FlateDecode", "/LZWDecode",
    "/RunLengthDecode", "/ASCII85Decode", "/ASCIIHexDecode", "/DCTDecode", "/Length", "/Length 99999", "/N 9", "/First 4",
    "/Type /ObjStm", "/Type /XRef", "/W [1 2 1]", "/Index [0 9]", "/Size 4294967295", "/Columns 99999999", "/Predictor 15",
    "/Predictor 2", "/Kids", "/Count -1", "/Parent 1 0 R", "/Contents", "1 0 R", "5 0 R", "/XObject", "/Encrypt", "%", "<",
    ">", "xref", "trailer", "startxref", "/Prev 0", "/#46ilter", "q ", "Q ", "/F1 12 Tf", "(x) Tj", "/X Do",
    "/Kids 9 0 R", "/FirstChar 100000000000", "/LastChar 100000000000", "/Widths [500]", "/W [0 4294967295 500]", "/W2 [0 9 1 2 3]",
    "/DW 500", "/ToUnicode 9 0 R", "/DescendantFonts [9 0 R]", "/Encoding /Identity-H", "/Encoding /Identity-V", "/Colors 0",
    "/Columns 0", "BI /W 1 /H 1 ID x EI ", "B#49 ID x ", "EI ", "4 Ts ", "1 0 0 1 60 720 Tm ", "0 1 -1 0 0 0 cm ", "1e38 0 0 1e38 0 0 cm ",
    "[(a) -99999999 (b)] TJ ", "0 0 Td ", "-0 Tz ", "/Annots [9 0 R]", "/AP << /N 9 0 R >>", "/Subtype /Widget", "/FT /Tx /V (x)",
    "/AcroForm", "/NeedAppearances true", "\\255", "-\n",
];

#[rustfmt::skip]
pub(super) const HTML: &[&str] = &[
    "<", ">", "</", "/>", "<!--", "-->", "<div>", "</div>", "<p>", "<p hidden>", "</p>", "<b>", "</b>", "<b hidden>",
    "<table>", "<tr>", "<td>", "</table>", "<script>", "</script>", "<style>", "</style>", "<template>", "</template>",
    "<select>", "<option>", "</select>", "<svg>", "</svg>", "<svg/>", "<title>", "</title>", "<nav>", "</nav>", "<li>",
    "<a>", "</a>", "<meta name=date content=", " style=\"display:none\"", " style='font-size:0'", " hidden", "&amp;", "&#0;",
    "&#x110000;", "&notit;", "&", "\r\n", "\0", "\u{feff}", "<![CDATA[", "<plaintext>", "<textarea>", "<br>", "<dialog>",
    "<sup>", "</sup>", "<sub>", "</sub>", "<sup><a href=#n>", "<math><msup><mn>", "</mn></msup>", "<mfrac>", "<ruby>", "<rp>", "<rt>", "</ruby>",
    "<del>", "</del>", "<s>", "</s>", "<annotation>", "</annotation>", "<main>", "</main>", "<article>", "<aside>", "</aside>", "<footer>",
    "<div id=cookie-banner>", "<ul class=menu>", "<p class='comments'>", "<button>", "</button>", " role=main", " popover", "<a href=/x>",
    " style='display:none;display:blok'", " style='font-size:calc((0px))'", " style='vertical-align:super'", "<meta charset=koi8-r>",
    "<?xml version='1.0' encoding='gbk'?>", "\u{1}\u{2}", "10", "1788", "$4", "[3]", "<meta property=og:title content='untitled'>",
    "<style>", ".h{display:none}", ".h.k{display:block}", "#i,p.h{vertical-align:super}", "@media print{", "@media screen{", ".h .k{display:none}", "p>.k{opacity:0}", "<td rowspan=2>", "<th rowspan=0 colspan=9>", "/*", "*/", " class='h k'", " id=i", "<mroot>", "<msqrt>", "</msqrt>",
    " style='position:absolute;left:-9999px'", " style='vertical-align:40%'", " style='position:relative;top:-.4em'", " style='clip:rect(0 0 0 0)'", "<mo>&InvisibleTimes;</mo>",
];

#[rustfmt::skip]
pub(super) const TEXT: &[&str] = &[
    "---\n", "title: ", "date: ", "url: https://a.example\n", "source: ", "# ", "\u{feff}", "\0", "a\0", "\0a", "\u{1b}$B", "\u{1b}(B", "Паром ",
    "渡船", "Fähre", "10\u{2076}", "\n\n", "\r\n", "It opened in 1931. ", "\u{1}", "\u{fffd}", "untitled\n",
];

#[rustfmt::skip]
pub(super) const JSON: &[&str] = &[
    "{", "}", "[", "]", "\"", ",", ":", "\n", "null", "-1", "1e999", "18446744073709551615", "\\u0000", "\\ud800", "\"text\"",
    "\"contents\"", "\"metadata\"", "\"../x\"", "\"000001\"", "true", "\"id\"", "[[[[[[[[[[[[[[[[", "0.5",
];

#[rustfmt::skip]
pub(super) const RECORD: &[&str] = &[
    "{\"moot_record\":3,", "{\"of\":\"q1\",\"entry\":0,\"call\":{", "\"entries\":[0,1,2]", "0,", "\"calls\":[", "\"events\":[",
    "\"chain\":\"", ",\"times\":{\"seconds\":1e308}", "\"conclusion\":null", "\"error\":\"x\"", "\"malformed\":true",
    "\"supporters\":[0,9,18446744073709551615]", "\"document\":4294967296", "\"stage\":0", "\"round\":18446744073709551615",
    "\"characters\":{\"start\":9,\"end\":2}", "\"parsed\":{\"choice\":{\"option\":99,\"explanation\":\"\"}}",
    "\"format_values\":{\"options\":[]}", "\"gold\":{\"answers\":[[]],\"all_required\":true}", "\"logprobs\":[{\"text\":\"a\",\"logprob\":-1e38}]",
    "\"finish\":\"a\\nb\"", "\"usage\":{\"prompt\":18446744073709551615,\"reused\":1,\"computed\":1,\"generated\":1}", "{", "}", "[", "]",
    "\"", ",", "\n", "null", "-1", "1e999", "\\u001b[31m", "\\n", "\"method\":\"drag\"", "\"claims\":[", "\"quote\":null", "\"weights\":[1e308]",
];

#[rustfmt::skip]
pub(super) const STREAM: &[&str] = &[
    "data: ", "data:", "\n\n", "\n", "\r\n", ": ping\n\n", "id: 7\n", "event: x\n", "data: [DONE]\n\n", "[DONE]", "{", "}", "[", "]", ",", "null",
    "\"choices\":[", "\"delta\":{", "\"message\":{", "\"content\":\"a\"", "\"reasoning_content\":\"b\"", "<think>", "</think>",
    "\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\"", "\"finish_reason\":\"abort\"", "\"index\":1", "\"index\":-1",
    "\"usage\":{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":9}", "\"cached_tokens\":18446744073709551615",
    "\"error\":{\"message\":\"a\\nb\",\"code\":503}", "\"logprobs\":{\"content\":[{\"token\":\"a\",\"logprob\":-1e999}]}",
    "\"tokens\":[1,2,3]", "\"token_logprobs\":[null]", "\"prompt_logprobs\":[null,{\"7\":{\"logprob\":-1}}]", "[-0.5,7,\"a\"]",
    "\"meta_info\":{\"completion_tokens\":99999999999}", "\"completion_probabilities\":[", "-1e308", "1e999", "sk-fuzz/key", "sk-fuzz\\/key",
    "\\u0073k-fuzz/key", "\\ud800", "\"text\":7", "\u{feff}", "\0", "vllm ", "sglang ", "llamacpp ", "score ", "watch ", "models ", "tokenize ",
    " 200 ", " 400 ", " 429 ", " 302 ", "text/event-stream", "application/json", "unsupported response_format", "\"stop\"", "\"logit_bias\"",
];

#[rustfmt::skip]
pub(super) const REPLY: &[&str] = &[
    "Answer: ", "answer:", "**Answer:** ", "Explanation: ", ". Explanation: ", "All Correct Answers: [", "Answers: [", "Items: [", "Claims: [",
    "\"", "'", "“", "”", "‘", "’", "]", "[", ", ", "unknown", "Unknown.", "Thought: ", "\nAnswer: ", "Argument: ", "\nQuery Optimization: ", " -> ",
    "Query Expansion: ", "Choice: ", "yes", "no", "When did it open?", "Label: ", "SUPPORTS", "CONTRADICTS", "IRRELEVANT", "Quote: \"",
    "Reason: ", "Document 1: ", "Document 99999999999999999999: ", "\n", " ", "\t", "*", "_", "{", "}", "1931", "in the year 1931", "12 March 1931",
    "1,931.50", "£9", "…", "\u{200b}", "\u{301}", "İ", "ﬃ", "<think>", "</think>", "\n%%\n", "[Retrieval]", "[No Retrieval]", "[Relevant]",
    "[Fully supported]", "[Utility:5]", "{\"answer\":\"a\",\"explanation\":\"b\"}", "{\"answers\":[\"a\"]}", "{\"choice\":\"yes\"}",
    "{\"labels\":[{\"document\":1,\"quote\":\"It opened\",\"label\":\"SUPPORTS\"}]}", "The bridge opened in 1931.", "- ", "1. ", "\\u0000",
];

#[rustfmt::skip]
pub(super) const XML: &[&str] = &[
    "<", ">", "</", "/>", "<a>", "</a>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml version='1.0' encoding='UTF-16'?>", "<?", "?>",
    "<!DOCTYPE d [<!ENTITY e \"eeee\">]>", "&e;", "&amp;", "&#0;", "&#x110000;", "&#10;", "&", "=\"", "'", "\"", " a=\"1\" a=\"2\"", "\0", "\u{feff}",
    "<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>", "</w:t>", "<w:vanish/>", "<w:rStyle w:val=\"S\"/>", "<w:sz w:val=\"99999999999\"/>", "<w:pPr>",
    "<w:tbl>", "<w:tc>", "</w:tc>", "<w:del>", "<mc:Fallback>", "<text:p>", "</text:p>", "<text:span text:style-name=\"T1\">", "<text:note-body>",
    "<style:style style:name=\"T1\">", "<style:text-properties text:display=\"none\"/>", "<table:table-cell>", "<text:tracked-changes>",
    "<rootfile full-path=\"a&#10;b\"/>", "<item id=\"a\" href=\"../../a.xhtml#x\"/>", "<itemref idref=\"a\"/>", "<dc:title>", "</dc:title>", "%00", "%ff",
    "href=\"", "<p>", "<p hidden>", "<script/>", "<title/>", "<svg>", "<w:vertAlign w:val=\"superscript\"/>", "<w:txbxContent>", "</w:txbxContent>", "<m:sup>", "</m:sup>",
    "<draw:frame>", "</draw:frame>", "style:text-position=\"super\"", "<row r=\"1048576\">", "<c r=\"XFD9\" t=\"s\">", "<v>", "</v>", "</c>", "</row>", "hidden=\"1\"",
    "table:number-columns-repeated=\"99999999\"", "table:number-rows-repeated=\"1048576\"", "r:id=\"r1\"", "Target=\"../../x\"", "show=\"0\"", "baseline=\"30000\"",
];

#[rustfmt::skip]
pub(super) const ELEMENTS: &[&str] = &[
    "<w:p><w:r><w:t>It opened in 1931. </w:t></w:r></w:p>", "<w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r>", "<w:t>a&amp;&#233;&e;</w:t>", "<w:rStyle w:val='S'/>",
    "<w:style w:styleId='T'><w:vanish/></w:style>", "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>", "<mc:Fallback><w:t>f</w:t></mc:Fallback>", "<w:sz w:val='1'/>", "<w:sectPr/>",
    "<w:tab/><w:br/><w:cr/>", "<w:noBreakHyphen/>", "<text:p text:style-name='T1'>It closed.</text:p>", "<text:note><text:note-body><text:p>n</text:p></text:note-body></text:note>",
    "<text:s/><text:tab/><text:line-break/>", "<text:section text:display='none'><text:p>x</text:p></text:section>", "<text:hidden-text text:is-hidden='true'/>",
    "<style:style style:name='T2'><style:text-properties fo:font-size='0.5pt'/></style:style>", "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>",
    "<item id='c' href='a.xhtml'/><itemref idref='c'/>", "<itemref idref='a'/>", "<itemref idref='none'/>", "<item id='n' href='%2e%2e/a.xhtml#y' properties='nav'/>", "<rootfile full-path='O/c.opf'/>",
    "<dc:title>A long title of a book </dc:title>", "<dc:date>2001T</dc:date>", "<p>It opened.</p>", "<p hidden>x</p>", "<script/>", "<table><tr><td>a</td></tr></table>", "<li>a</li>", "<!-- c -->", "<![CDATA[ d ]]>",
    "<a><b><c/></b></a>", "<?pi?>", "<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>3</w:t></w:r>", "<w:txbxContent><w:p><w:r><w:t>b</w:t></w:r></w:p></w:txbxContent>",
    "<draw:frame><draw:text-box><text:p>b</text:p></draw:text-box></draw:frame>", "<row r='2'><c r='B2' t='inlineStr'><is><t>a</t></is></c><c><v>1e300</v></c></row>", "<si><t>a</t></si>",
    "<xf numFmtId='14'/>", "<sheet name='b' r:id='r1' state='hidden'/>", "<col min='1' max='16384' hidden='1'/>", "<p:sldId r:id='r1'/>", "<a:p><a:r><a:rPr baseline='-1'/><a:t>a</a:t></a:r></a:p>",
    "<Relationship Id='r1' Type='x/worksheet' Target='s.xml'/>", "<CipherReference URI='a.xhtml'/>",
    "<w:basedOn w:val='S'/>", "<w:strike/>", "<w:sym w:font='Symbol' w:char='F0B0'/>", "<m:rad><m:deg><m:r><m:t>3</m:t></m:r></m:deg><m:e><m:r><m:t>27</m:t></m:r></m:e></m:rad>",
    "<numFmt numFmtId='14' formatCode='#,##0.0,,[$€-407]&quot;m&quot;;-0'/>", "<c r='C2'><f>A1</f></c>", "<style:style style:name='S' style:parent-style-name='T1'/>",
];

#[rustfmt::skip]
pub(super) const RTF: &[&str] = &[
    "{\\rtf1", "{", "}", "\\", "{\\*", "{\\info", "{\\title ", "\\par ", "\\line", "\\tab", "\\v ", "\\v0 ", "\\deleted ", "\\fs1 ", "\\fs24 ",
    "\\plain ", "\\u8212 ?", "\\u-10179 ?", "\\u-8704 ?", "\\u99999999999999999999 ", "\\uc0 ", "\\uc16 ", "\\uc-1 ", "\\'e9", "\\'80", "\\'zz", "\\'",
    "\\bin9 ", "\\bin-1 ", "\\bin4294967296 ", "\\ansicpg1251 ", "\\mac ", "\\pict ", "\\fonttbl ", "{\\header ", "\\row ", "\\cell ", "\\~", "\\_",
    "\\\n", "é", "\u{1f600}", "\0", "\u{feff}", "\\emdash ", "\\rquote ", "\\super ", "\\sub ", "\\strike ", "\\strike0 ", "\\nosupersub ", "\\up6 ", "\\dn0 ",
    "{\\f1\\fcharset204 A;}", "\\fcharset128 ", "\\cpg932 ", "\\f1 ", "\\f-1 ", "\\deff1 ", "{\\footnote ", "{\\*\\shpinst{\\shptxt ", "\\'83A", "\\pc ",
];

#[rustfmt::skip]
pub(super) const MAIL: &[&str] = &[
    "From: a\n", "Subject: ", "=?utf-8?q?=C3=A9?=", "=?utf-8?b?w6k=?=", "=?", "?=", "Date: Fri, 31 May 2024 23:30:00 +0200\n", "\n", "\n\n", "\r\n", "--b\n",
    "--b--\n", "Content-Type: multipart/mixed; boundary=b\n", "Content-Type: multipart/alternative; boundary=\"b\"\n", "Content-Type: text/plain; charset=koi8-r\n",
    "Content-Type: text/html\n", "Content-Type: message/rfc822\n", "Content-Transfer-Encoding: base64\n", "Content-Transfer-Encoding: quoted-printable\n",
    "Content-Disposition: attachment; filename=a.pdf\n", "Content-Disposition: attachment; filename*0*=utf-8''%C3%A9; filename*1=b\n", "=CC=EE", "=\n", "PHA+YTwvcD4=",
    "<p>It opened.</p>", "\0", "é", "\u{feff}", "Content-Type: text/plain; format=flowed; delsp=yes\n", "to \n", ">> ", "> \n", "-- \n",
];

#[rustfmt::skip]
pub(super) const NOTEBOOK: &[&str] = &[
    "{", "}", "[", "]", "\"", ",", ":", "null", "\"cells\":[", "\"worksheets\":[{\"cells\":[", "{\"cell_type\":\"code\",\"source\":[\"a\\n\",\"b\"],\"outputs\":[]},",
    "{\"cell_type\":\"markdown\",\"source\":\"# A\"},", "{\"text\":\"a\"},", "{\"data\":{\"text/html\":\"<p>a</p>\"}},", "{\"data\":{\"image/png\":\"AA\"}},", "{\"ename\":\"E\"},",
    "\"metadata\":{\"title\":[\"t\"]}", "\"kernelspec\":{\"language\":\"r\\n\"}", "\\u0000", "\\ud800", "\u{feff}", "[[[[[[[[[[[[[[[[", "1e999", "\\u001b[31m", "\\u001b]0;", "\\u001b", "\\u0007", "{\"data\":{\"text/latex\":\"a\"}},",
];
