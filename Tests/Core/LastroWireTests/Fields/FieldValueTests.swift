// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Parsing field values")
struct FieldValueTests {
  @Test(
    "A media type has parameters, with or without quotes",
    arguments: [
      ("multipart/mixed", "multipart/mixed", []), ("A/B;Charset=utf-8", "a/b", ["charset=utf-8"]),
      (#"a/b ; x = "1;2,\"3\\" ; ;y=z;"#, "a/b", [#"x=1;2,"3\"#, "y=z"]), ("a/b;x", "a/b", ["x="]),
      ("form-data; name=a; NAME=b", "form-data", ["name=a", "name=b"]),
    ])
  func parameters(text: String, essence: String, parameters: [String]) throws {
    let value = try #require(ParameterizedValue(text))
    #expect(value.essence == essence)
    #expect(value.parameters.map { "\($0.name)=\($0.value)" } == parameters)
  }

  @Test(
    "Malformed values are refused",
    arguments: ["", " ", ";a=b", "a/b;c=\"d", "a/b c", "a/b;c=\"d\"e", "a/b,c/d"])
  func malformed(text: String) { #expect(ParameterizedValue(text) == nil) }

  @Test("Backslashes as browsers send them are kept literally")
  func backslashes() throws {
    let value = try #require(ParameterizedValue(#"form-data; name="a\"; filename="c:\b""#, escapes: false))
    #expect(value.parameters["name"] == #"a\"# && value.parameters["filename"] == #"c:\b"#)
  }

  @Test("A parameter that is given twice with different values counts as absent")
  func only() throws {
    #expect(ParameterizedValue("a/b;x=1;x=1")?.only("x") == "1")
    #expect(ParameterizedValue("a/b;x=1;x=2")?.only("x") == nil)
    #expect(ParameterizedValue("a/b")?.only("x") == nil)
  }

  @Test(
    "Links are separated by commas outside of <> and quotes, and only the first rel counts",
    arguments: [
      (["<https://a/?p=2>; rel=\"next\", <https://a/?p=9>; rel=last"], ["https://a/?p=2 next", "https://a/?p=9 last"]),
      (["</a,b>; title=\"x, <y>; rel=prev\"; rel=NEXT"], ["/a,b next"]),
      (["<a>;rel=\"prev Next\"  ,,<b>"], ["a prev,next", "b "]),
      (["<a>; rel=next; rel=prev"], ["a next"]), (["<a>; rel=next", "<b>; rel=prev"], ["a next", "b prev"]),
      (["<a>;rel=next junk, <b>;rel=next"], ["a next"]), (["a; rel=next"], []), (["<a; rel=next"], []), ([""], []),
      (["<a>; rel=\"prev\tnext\""], ["a prev,next"]),
      (["<a>; rel=\"next"], []), (["<>; rel=next"], [" next"]), (["<a>; Rel = next ; anchor=\"#x\""], ["a next #x"]),
    ])
  func links(values: [String], links: [String]) {
    let read = WebLink.links(in: values).map { link in
      "\(link.target) \(link.relations.joined(separator: ","))" + (link.anchor.map { " \($0)" } ?? "")
    }
    #expect(read == links)
  }

  @Test("A field beyond 64 KiB has no links")
  func hugeLinks() {
    let link = "<a>;rel=next,"
    #expect(WebLink.links(in: [String(repeating: link, count: 5_041)]).count == 5_041)
    #expect(WebLink.links(in: [String(repeating: link, count: 5_042)]).isEmpty)
  }

  @Test(
    "Content-Range is parsed by its grammar only",
    arguments: [
      ("bytes 0-9/10", "0..<10 of 10"), ("BYTES 5-5/*", "5..<6 of *"), ("bytes */10", "none of 10"),
      ("bytes 0-9223372036854775806/*", "0..<9223372036854775807 of *"), ("bytes */*", "nil"), ("bytes 0-10/10", "nil"),
      ("bytes 5-4/10", "nil"), ("bytes -5/10", "nil"), ("bytes 0-/10", "nil"), ("items 0-9/10", "nil"),
      ("bytes 0-9", "nil"), ("bytes 0-9/", "nil"), ("bytes +0-9/10", "nil"), ("bytes 0-9/10/11", "nil"), ("", "nil"),
      ("bytes 0-9223372036854775807/*", "nil"), ("bytes 0-99999999999999999999/*", "nil"), ("bytes=0-9/10", "nil"),
    ])
  func contentRange(text: String, read: String) {
    let range = ContentRange(text)
    let found = range.map { range in
      "\(range.bytes.map { "\($0)" } ?? "none") of \(range.total.map { "\($0)" } ?? "*")"
    }
    #expect(found ?? "nil" == read)
  }
}
