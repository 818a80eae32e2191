// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroWire
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of forms that cannot be sent, and of parts that cannot be read, as `MultipartErrorTexts.txt` beside
/// this file has it.
@Suite("Error texts of forms and parts", .timeLimit(.minutes(5)))
struct MultipartErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "MultipartErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    let texts = try await Self.forms() + Self.sendings() + Self.types() + Self.messages()
    try expectGolden(texts.map { $0 + "\n" }.joined(), keptIn: Self.file)
  }

  private static func told(_ work: () async throws -> Void) async -> String? {
    do {
      try await work()
      return nil
    } catch {
      return "TransportError | \(error)"
    }
  }

  private static func forms() async throws -> [String] {
    var forms: [MultipartForm] = [MultipartForm(boundary: "a\nb")]
    func add(_ change: (inout MultipartForm) -> Void) {
      var form = MultipartForm()
      change(&form)
      forms.append(form)
    }
    add { $0.add("a\n", Data(), fields: ["Content-Type": "x"]) }
    add { $0.add("a", Data(), contentType: "a/b\n") }
    add { $0.add("a", .stream(Chunks(), trailers: { [:] })) }
    add { $0.add("a", .stream(Chunks(), length: -1)) }
    var texts: [String] = []
    for form in forms { texts += [await told { _ = try RequestBody.multipart(form) }].compactMap { $0 } }
    return texts
  }

  private static func sendings() async throws -> [String] {
    let folder = NSTemporaryDirectory() + "forms-\(UUID().uuidString)/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = folder + "file"
    try Data("12345".utf8).write(to: URL(filePath: path))
    var texts: [String?] = []
    for length in [Int64(1), 3] {
      var form = MultipartForm()
      form.add("a", .stream(Chunks("ab"), length: length))
      let body = try RequestBody.multipart(form)
      texts.append(await told { _ = try await body.sent() })
    }
    var form = MultipartForm()
    try form.add("f", file: path)
    let body = try RequestBody.multipart(form)
    try Data("123".utf8).write(to: URL(filePath: path))
    texts.append(await told { _ = try await body.sent() })
    try FileManager.default.removeItem(atPath: path)
    texts.append(await told { _ = try await body.sent() })
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    texts.append(await told { _ = try await body.sent() })
    texts.append(
      await told {
        let file = try FormFile("/proc/self/mem", length: 1)
        _ = try file.next()
      })
    return texts.compactMap { $0?.replacingOccurrences(of: folder, with: "FOLDER/") }
  }

  private static func types() async throws -> [String] {
    var limits = MultipartLimits()
    limits.maximumParts = -1
    let texts = [
      await told { _ = try ResponseBody(Data()).parts(contentType: nil) },
      await told { _ = try ResponseBody(Data()).parts(contentType: "text/plain\n") },
      await told { _ = try ResponseBody(Data()).parts(contentType: "multipart/mixed") },
      await told { _ = try ResponseBody(Data()).parts(contentType: "multipart/mixed; boundary=b", limits: limits) },
      await told {
        var parts = try ResponseBody(Data("--b\r\n\r\n\r\n--b\r\n\r\n".utf8)).parts(
          contentType: "multipart/mixed; boundary=b"
        ).makeAsyncIterator()
        let first = try await parts.next()
        _ = try await parts.next()
        _ = try await first?.body.collect(upTo: 10)
      },
      await told {
        var parts = try ResponseBody(Data("--b\r\n\r\n\r\n--b--".utf8)).parts(
          contentType: "multipart/byteranges; boundary=b"
        ).makeAsyncIterator()
        _ = try await parts.next()
      },
    ]
    return texts.compactMap { $0 }
  }

  private static func messages() async throws -> [String] {
    let messages = [
      "", "--b\r\n\r\n", "--b\n", "--b\r\nA\n", "--b\r\n A\r\n", "--b\r\nA\r\n\r\n",
      "--b" + String(repeating: " ", count: 200),
      "--b\r\nA: 1\r\nB: 2\r\n\r\n", "--b\r\n" + String(repeating: "A", count: 200), "--b\r\n\r\n\r\n--b\r\n",
      String(repeating: "x", count: 200),
    ]
    var limits = MultipartLimits()
    limits.maximumParts = 1
    limits.maximumFields = 1
    limits.maximumHeadBytes = 100
    limits.maximumPreambleBytes = 100
    var texts: [String?] = []
    for message in messages {
      texts.append(
        await told {
          let parts = try ResponseBody(Data(message.utf8)).parts(
            contentType: "multipart/mixed; boundary=b", limits: limits)
          for try await _ in parts {}
        })
    }
    return texts.compactMap { $0 }
  }
}
