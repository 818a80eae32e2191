// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Text by its charset", .timeLimit(.minutes(15)))
struct TextDecodingTests {
  @Test(
    "The bytes are read in the charset that the response names, by the labels of the Encoding standard",
    arguments: [
      ("text/html; charset=ISO-8859-1", [0x63, 0x61, 0x66, 0xE9, 0x80], "café€"),
      ("text/html;charset=\"latin1\"", [0xE9], "é"), ("text/plain; charset=us-ascii", [0x93], "“"),
      ("text/plain; Charset=Shift_JIS", [0x93, 0xFA, 0x96, 0x7B, 0x87, 0x40], "日本①"),
      ("text/plain; charset=EUC-JP", [0xC6, 0xFC], "日"), ("text/plain; charset=gb2312", [0xC4, 0xE3], "你"),
      ("text/plain; charset=euc-kr", [0xC7, 0xD1], "한"), ("text/plain; charset=big5", [0xA4, 0xA4], "中"),
      ("text/plain; charset=windows-1251", [0xC4, 0xE0], "Да"), ("text/plain; charset=koi8-r", [0xE4, 0xC1], "Да"),
      ("text/plain; charset=utf-16", [0x41, 0x00], "A"), ("text/plain; charset=utf-16be", [0x00, 0x41], "A"),
      ("text/plain; charset=utf8", [0xC3, 0xA9], "é"), ("text/plain", [0xC3, 0xA9], "é"), (nil, [0xC3, 0xA9], "é"),
      ("text/plain; charset=", [0xC3, 0xA9], "é"), ("text/plain; a=b; charset=utf-8; c", [0xC3, 0xA9], "é"),
      // A byte order mark is stronger than the response's word, and is not part of the text.
      ("text/plain; charset=latin1", [0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "é"),
      ("text/plain; charset=latin1", [0xFF, 0xFE, 0x41, 0x00], "A"), (nil, [0xFE, 0xFF, 0x00, 0x41], "A"),
      ("text/plain; charset=shift_jis", [], ""),
      // In this charset a combining character may follow a letter, so that the converter keeps the last one back.
      ("text/plain; charset=windows-1258", [0x63, 0x61, 0x66, 0xE9], "café"),
    ] as [(String?, [UInt8], String)])
  func charsets(contentType: String?, bytes: [UInt8], text: String) async throws {
    #expect(try TextDecoding.text(of: Data(bytes), contentType: contentType) == text)
    var fields = HTTPFields()
    fields[.contentType] = contentType
    let transport = ScriptedTransport([.respond(status: .ok, headers: fields, body: Data(bytes))])
    let stack = TransportNetworkStack(transport)
    #expect(try await stack.fetch(.text("https://h.example/")).value == text)
  }

  @Test(
    "Bytes that are not text of the charset, and charsets that do not exist, fail",
    arguments: [
      ("text/plain", [0xFF], "the body is not UTF-8 text"),
      ("text/plain; charset=utf-8", [0xC3], "the body is not UTF-8 text"),
      ("text/plain; charset=shift_jis", [0x93], "the body is not shift_jis text"),
      ("text/plain; charset=utf-16le", [0x41], "the body is not utf-16le text"),
      ("text/plain; charset=klingon", [0x41], "the body's charset \"klingon\" is not known here"),
      ("text/plain; charset=utf-16//IGNORE", [0x41], "the body's charset \"utf-16//ignore\" is not known here"),
    ] as [(String, [UInt8], String)])
  func failures(contentType: String, bytes: [UInt8], message: String) async throws {
    let error = #expect(throws: TextDecoding.Failure.self) {
      try TextDecoding.text(of: Data(bytes), contentType: contentType)
    }
    #expect(error?.description == message)
    let transport = ScriptedTransport([
      .respond(status: .ok, headers: [.contentType: contentType], body: Data(bytes))
    ])
    let stack = TransportNetworkStack(transport)
    let failed = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await stack.fetch(.text("https://h.example/"))
    }
    #expect(failed?.code == .undecodable)
  }

  @Test("Every charset decodes all single bytes to text or an error, and never reads past its input")
  func bytes() {
    for label in ["latin1", "shift_jis", "euc-jp", "gb18030", "big5", "koi8-r", "utf-16", "iso-2022-jp"] {
      for first in UInt8.min...UInt8.max {
        for bytes in [[first], [first, 0x41], [0x41, first]] {
          let text = try? TextDecoding.text(of: Data(bytes), contentType: "text/plain; charset=\(label)")
          #expect((text?.unicodeScalars.count ?? 0) <= 2)
        }
      }
    }
  }

  @Test(
    "A long text is decoded whole, and takes no memory for as much text again",
    arguments: [
      ("latin1", [0x41], "A"), ("latin1", [0xE9], "é"), ("windows-1258", [0x61], "a"),
      ("shift_jis", [0x93, 0xFA, 0x41], "日A"), ("gb18030", [0x90, 0x30, 0x81, 0x30], "\u{10000}"),
      ("utf-16le", [0x41, 0x00], "A"), ("utf-16be", [0xD8, 0x3D, 0xDE, 0x00], "😀"),
    ] as [(String, [UInt8], String)])
  func long(label: String, bytes: [UInt8], character: String) throws {
    /// Returns the place of the text in memory, which changes when the text needs more of it.
    func place(_ text: String) throws -> UInt {
      try #require(text.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) })
    }
    let body = Data(Array(repeating: bytes, count: 50_000).joined())
    let expected = String(repeating: character, count: 50_000)
    var text = try TextDecoding.text(of: body, contentType: "text/plain; charset=\(label)")
    #expect(text == expected)
    let before = try place(text)
    text.append(expected)
    #expect(try place(text) != before)
  }

  @Test("Malformed bytes behind a long text fail", arguments: ["shift_jis", "gb18030"])
  func malformedEnd(label: String) {
    for end in [[0x93], [0xFF, 0xFF]] as [[UInt8]] {
      let body = Data([UInt8](repeating: 0x41, count: 50_000) + end)
      #expect(throws: TextDecoding.Failure.self) {
        try TextDecoding.text(of: body, contentType: "text/plain; charset=\(label)")
      }
    }
  }
}
