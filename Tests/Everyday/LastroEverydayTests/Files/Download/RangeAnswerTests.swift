// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroWire
import Testing

@testable import LastroEveryday

@Suite("Range information in responses")
struct RangeAnswerTests {
  @Test(
    "A validator is a strong ETag, or a date a second older than Date, unless ranges are not served",
    arguments: [
      (["ETag": "\"a\""], "\"a\""), (["ETag": "W/\"a\""], nil), (["ETag": "a"], nil), (["ETag": "\"a\"b\""], nil),
      (["ETag": "\"a\"", "Accept-Ranges": "none"], nil), (["ETag": "\"a\"", "Accept-Ranges": "bytes"], "\"a\""),
      (["ETag": "\"a\"", "Content-Encoding": "gzip"], nil),
      (["ETag": "\"a\"", "Content-Encoding": "identity"], "\"a\""),
      (["Last-Modified": "Wed, 25 Nov 2026 08:00:00 GMT"], nil),
      (
        ["Last-Modified": "Wed, 25 Nov 2026 08:00:00 GMT", "Date": "Wed, 25 Nov 2026 08:00:01 GMT"],
        "Wed, 25 Nov 2026 08:00:00 GMT"
      ),
      (["Last-Modified": "Wed, 25 Nov 2026 08:00:00 GMT", "Date": "Wed, 25 Nov 2026 08:00:00 GMT"], nil),
      (["Last-Modified": "yesterday", "Date": "Wed, 25 Nov 2026 08:00:00 GMT"], nil),
      // A weak tag means that the date is not a strong validator either.
      (
        [
          "ETag": "W/\"a\"", "Last-Modified": "Wed, 25 Nov 2026 07:00:00 GMT", "Date": "Wed, 25 Nov 2026 08:00:00 GMT",
        ], nil
      ), ([:], nil),
    ] as [([String: String], String?)])
  func validator(fields: [String: String], validator: String?) throws {
    var head = HTTPFields()
    for (name, value) in fields { head[try #require(HTTPField.Name(name))] = value }
    let representation = Representation(head, total: 10)
    #expect(representation.validator == validator && (representation.obstacle == nil) == (validator != nil))
  }

  @Test(
    "Without a Date the time of receipt counts, and Last-Modified must be a minute older",
    arguments: [0, 59, 60, 3_600])
  func receipt(age: Int64) throws {
    let modified = "Wed, 25 Nov 2026 08:00:00 GMT"
    let seconds = try #require(HTTPDate.seconds(modified, now: 0))
    let representation = Representation([.lastModified: modified], total: 10, receivedAt: seconds + age)
    #expect(representation.validator == (age < 60 ? nil : modified))
    // A `Date` in the response takes precedence over the local clock.
    let dated = Representation([.lastModified: modified, .date: modified], total: 10, receivedAt: seconds + age)
    #expect(dated.validator == nil)
  }

  @Test(
    "The reason why a representation cannot be resumed is reported",
    arguments: [
      (["ETag": "W/\"a\""], "the server's ETag is weak"), (["ETag": "a"], "the server's ETag is malformed"),
      (["ETag": "\"a\"", "Accept-Ranges": "none"], "the server serves no ranges (Accept-Ranges: none)"),
      (["ETag": "\"a\"", "Content-Encoding": "gzip"], "the body has a content coding that was not asked for"),
      ([:], "the server sends neither an ETag nor a Last-Modified that can be read"),
      (
        ["Last-Modified": "Wed, 25 Nov 2026 08:00:00 GMT", "Date": "Wed, 25 Nov 2026 08:00:00 GMT"],
        "the server's Last-Modified is not older than its Date"
      ),
      (
        ["Last-Modified": "Wed, 25 Nov 2026 08:00:00 GMT"],
        "the server sends no Date, and its Last-Modified is less than 60 s old"
      ),
    ] as [([String: String], String)])
  func obstacle(fields: [String: String], obstacle: String) throws {
    var head = HTTPFields()
    for (name, value) in fields { head[try #require(HTTPField.Name(name))] = value }
    #expect(Representation(head, total: 10).obstacle == obstacle)
  }

  @Test(
    "An offered file name is reduced to the last path component, without misleading characters",
    arguments: [
      ("attachment; filename=\"a.txt\"", "a.txt"), ("attachment; filename=a.txt", "a.txt"),
      ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\"C:\\\\x\\\\y.exe\"", "y.exe"),
      ("attachment; filename=\".bashrc\"", "bashrc"), ("attachment; filename=\"a\\\"b\"", "a\"b"),
      ("attachment; filename*=UTF-8''%e2%82%ac%20rates; filename=\"EUR\"", "€ rates"),
      ("attachment; filename=\"EUR\"; filename*=utf-8'en'a%2Fb", "b"),
      ("attachment; filename*=ISO-8859-1''%e4; filename=x", "x"), ("attachment; filename*=UTF-8''%ff; filename=x", "x"),
      ("attachment; filename*=UTF-8''a%00b%0ac", "abc"), ("attachment; filename=\"a\u{202E}txt.exe\"", "atxt.exe"),
      ("attachment; filename=\"..\"", nil), ("attachment; filename=\"\"", nil), ("attachment", nil),
      ("attachment; filename=\"a/\"", "a"), ("attachment; FileName=\"x. \"", "x"), ("inline; filename", nil),
      ("attachment; filename*=UTF-8''%2F%E2%80%8Detc%2F%E2%80%8Dpasswd", "passwd"),
      ("attachment; filename*=UTF-8''a%2F%E2%80%8D..%2F%E2%80%8D..%2F%E2%80%8Dx", "x"),
      ("attachment; filename*=UTF-8''a%2F%CC%81b", "\u{301}b"),
      ("attachment; filename*=UTF-8''a%+4b; filename=x", "x"), ("attachment; filename*=UTF-8''a%-0b; filename=x", "x"),
      ("attachment; filename*=UTF-8''a%4; filename=x", "x"), ("attachment; filename=\"unclosed", "unclosed"), ("", nil),
      (";;;=;filename==", "="),
    ] as [(String, String?)])
  func offeredName(field: String, name: String?) { #expect(OfferedName.read(field) == name) }

  @Test("An offered file name as long as a head may be is shortened like any other")
  func hugeName() {
    let flags = String(repeating: "\u{1F1E6}", count: 60_000)
    #expect(OfferedName.read("attachment; filename=\"\(flags)\"")?.utf8.count == 248)
  }

  @Test("An offered file name has at most 255 bytes and ends at a character boundary")
  func longName() throws {
    let name = try #require(OfferedName.read("attachment; filename=\"\(String(repeating: "ä", count: 300))\""))
    #expect(name.utf8.count == 254 && name.allSatisfy { $0 == "ä" })
  }
}
