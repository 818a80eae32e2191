// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroEveryday
import TestSupport
import Testing

@Suite("Files in forms", .timeLimit(.minutes(15)))
struct FormFileTests {
  private let path = NSTemporaryDirectory() + "form-\(UUID().uuidString).txt"

  private func body(_ content: String) throws -> RequestBody {
    try Data(content.utf8).write(to: URL(filePath: path))
    var form = MultipartForm(boundary: "b")
    try form.add("f", file: path)
    return try .multipart(form)
  }

  private func write(_ content: String) throws { try Data(content.utf8).write(to: URL(filePath: path)) }

  @Test("A file that grew is sent up to its length when the form was made")
  func grown() async throws {
    let body = try body("12345")
    try write("1234567890")
    let sent = try await body.sent()
    #expect(Int64(sent.count) == body.length)
    #expect(String(decoding: sent, as: UTF8.self).hasSuffix("\r\n\r\n12345\r\n--b--\r\n"))
  }

  @Test("A file that shrank, vanished or was replaced fails the request")
  func shrunk() async throws {
    let body = try body("12345")
    for content in ["1234", ""] {
      try write(content)
      #expect(await words { try await body.sent() } == "request/invalid_body")
    }
    try FileManager.default.removeItem(atPath: path)
    #expect(await words { try await body.sent() } == "request/invalid_body")
    // Opening a pipe that has no writer would block forever.
    #expect(mkfifo(path, 0o600) == 0)
    #expect(await words { try await body.sent() } == "request/invalid_body")
    #expect(unlink(path) == 0)
  }

  @Test("The error for a file that shrank names it as the form's, and says that it became shorter")
  func shrunkError() async throws {
    let body = try body("12345")
    defer { unlink(path) }
    try write("1234")
    let error = await #expect(throws: TransportError.self) { _ = try await body.sent() }
    let message = try #require(error?.message)
    #expect(message.hasPrefix("the form's file ") && message.contains("became shorter: it has 4 bytes"), "\(message)")
  }

  @Test("A path that is not a file is refused at once", arguments: ["/nowhere/file", "/dev/null", "/tmp", "/tmp/a\0b"])
  func refused(path: String) {
    var form = MultipartForm()
    #expect(throws: TransportError.self) { try form.add("f", file: path) }
  }

  @Test("A part with more or fewer bytes than announced fails the request", arguments: [Int64(0), 3, 5, 100])
  func lengths(announced: Int64) async throws {
    var form = MultipartForm()
    form.add("s", .stream(Chunks("ab", "cd"), length: announced, isReplayable: true))
    form.add("t", "x")
    let body = try RequestBody.multipart(form)
    #expect(await words { try await body.sent() } == "request/invalid_body")
  }

  @Test("A form of ten gigabytes announces its exact length and is read in blocks of at most 128 KiB")
  func sparse() async throws {
    try write("")
    defer { unlink(path) }
    let size: Int64 = 10 << 30
    #expect(truncate(path, Int(size)) == 0)
    var form = MultipartForm(boundary: "b")
    form.add("t", "x")
    try form.add("f", file: path, filename: "f")
    let body = try RequestBody.multipart(form)
    let around = MultipartForm(boundary: "b").adding("t", "x").adding("f", Data(), filename: "f")
    #expect(body.length == size + (try #require(try RequestBody.multipart(around).length)))
    guard case .stream(_, true, let open) = body.source else { throw TestFailure("the form is not streamed") }
    let next = open()
    // Reading all of it would fill the system's cache with zeros.
    var count = 0
    while count < 1 << 30, let chunk = try await next() {
      count += chunk.count
      #expect(chunk.count <= 128 << 10)
    }
    #expect(count >= 1 << 30)
  }
}

extension MultipartForm {
  fileprivate func adding(_ name: String, _ text: String) -> Self {
    var copy = self
    copy.add(name, text)
    return copy
  }

  fileprivate func adding(_ name: String, _ data: Data, filename: String) -> Self {
    var copy = self
    copy.add(name, data, filename: filename)
    return copy
  }
}
