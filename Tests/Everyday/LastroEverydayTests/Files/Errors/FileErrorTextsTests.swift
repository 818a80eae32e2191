// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HTTPTypes
import Lastro
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of transfers that fail, as `FileErrorTexts.txt` beside this file has it.
@Suite("Error texts of transfers of files")
struct FileErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "FileErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let lines = Self.files() + Self.options() + (try Self.requests()) + (try Self.downloads()) + Self.uploads()
    try expectGolden(lines.map { "TransportError | \($0)\n" }.joined(), keptIn: Self.file)
  }

  private static func files() -> [TransportError] {
    [
      ("open", ENOENT), ("open", ELOOP), ("write to", ENOSPC), ("make room in", ENOSPC), ("make", EEXIST),
      ("replace the folder", EISDIR), ("replace", ENOTSUP), ("look at", EACCES),
    ].map { FileFailure(operation: $0.0, path: "/d/file", code: $0.1).transportError(requestSent: false) }
  }

  private static func error(_ operation: () throws(TransportError) -> Void) -> [TransportError] {
    do throws(TransportError) {
      try operation()
      return []
    } catch {
      return [error]
    }
  }

  private static func options() -> [TransportError] {
    let downloads: [(inout DownloadOptions) -> Void] = [
      { $0.onChange = .restart(limit: -1) }, { $0.segments = 9 }, { $0.maximumBytes = -1 },
      { $0.digest = .sha256("12") },
      { $0.digest = .sha512("zz") },
    ]
    let uploads: [(inout UploadOptions) -> Void] = [
      { $0.bytesPerAppend = 0 }, { $0.metadata = ["a b": ""] }, { $0.sendsDigests = true },
    ]
    return downloads.flatMap { edit in
      var options = DownloadOptions()
      edit(&options)
      return error { () throws(TransportError) in try options.check() }
    }
      + uploads.flatMap { edit in
        var options = UploadOptions()
        edit(&options)
        return error { () throws(TransportError) in try options.check() }
      }
  }

  private static func requests() throws -> [TransportError] {
    let post = try ResourceRequest(method: .post, url: "https://example.org/")
    let range = try ResourceRequest(url: "https://example.org/", headers: ["Range": "bytes=0-"])
    return [post, range].flatMap { request in error { () throws(TransportError) in try request.checkDownload() } }
      + error { () throws(TransportError) in _ = try RequestTarget.resolved("http://a.example/", "https://b.example/") }
  }

  private static func downloads() throws -> [TransportError] {
    let one = try MessageDigest(of: Data("one".utf8))
    let two = try MessageDigest(of: Data("two".utf8))
    let digest = Digest(algorithm: .sha256, value: one)
    let check = ContentDigestCheck(DigestField.field(digest))
    return reasons().compactMap { DownloadMachine.Failure.mismatch($0).transportError }
      + [DownloadMachine.Failure.changed(times: 1), .changed(times: 4), .tooLarge(10)].compactMap(\.transportError)
      + [
        .digestMismatch(digest, found: two, of: "/d/file"), .undigested(.sha512, "/d/file"), .inProgress("/d/file"),
        .endedEarly,
      ] + error { () throws(TransportError) in try check?.check() }
  }

  private static func reasons() -> [String] {
    func answer(_ status: Int, _ fields: HTTPFields) -> RangeAnswer {
      RangeAnswer(HTTPResponse(status: .init(code: status), headerFields: fields))
    }
    let whole = answer(200, [.eTag: "\"1\"", .contentLength: "10", .reprDigest: "sha-256=:AAAA:"]).representation
    let dated = answer(200, [.lastModified: "Wed, 25 Nov 2026 08:00:00 GMT"]).representation
    let parts: [HTTPFields] = [
      [:], [.contentType: "multipart/byteranges"], [.contentRange: "bytes 2-9/10"], [.contentRange: "bytes 0-0/10"],
      [.contentRange: "bytes 1-9/10", .contentLength: "3"],
    ]
    let others: [HTTPFields] = [
      [.eTag: "\"2\""], [.contentRange: "bytes 1-9/11"], [.contentEncoding: "gzip"], [.reprDigest: "sha-256=:BBBB:"],
    ]
    var machine = DownloadMachine(.init())
    _ = machine.handle(.found(nil, synced: 0))
    var unasked: [String] = []
    if case .fail(.mismatch(let reason)) = machine.handle(.head(answer(206, [:]), asked: nil)).last {
      unasked = [reason]
    }
    machine = DownloadMachine(.init())
    _ = machine.handle(.found(nil, synced: 0))
    _ = machine.handle(.head(answer(200, [.contentLength: "1"]), asked: nil))
    if case .fail(.mismatch(let reason)) = machine.handle(.chunk(2, at: .zero)).last { unasked.append(reason) }
    return parts.compactMap { answer(206, $0).mismatch(from: 1) }
      + [answer(200, [:]).mismatch(from: 1)].compactMap(\.self)
      + others.compactMap { whole.mismatch(with: answer(206, $0).representation) }
      + [answer(206, [.lastModified: "Wed, 25 Nov 2026 09:00:00 GMT"]).representation].compactMap(dated.mismatch)
      + [dated].compactMap(answer(200, [:]).representation.mismatch) + [whole].compactMap(dated.mismatch) + unasked
  }

  private static func uploads() -> [TransportError] {
    let rules = UploadMachine.Rules(length: 10)
    func answer(_ fields: HTTPFields) -> UploadAnswer {
      UploadAnswer(HTTPResponse(status: .ok, headerFields: fields), .tus)
    }
    var reasons: [String] = [
      "the server takes uploads of 5 bytes or more, and the file has 1",
      "the server keeps nothing of what it is sent",
    ]
    for (hasURL, fields) in [
      (false, [:]), (true, [:]), (true, [.uploadOffset: "11"]), (true, [.uploadOffset: "1", .uploadLength: "9"]),
    ] as [(Bool, HTTPFields)] {
      var machine = UploadMachine(rules)
      _ = machine.handle(.begun(hasURL: hasURL))
      if case .fail(.violation(let reason)) = machine.handle(.answered(answer(fields))).last { reasons.append(reason) }
    }
    var machine = UploadMachine(rules)
    _ = machine.handle(.begun(hasURL: true))
    for _ in 0..<21 {
      if case .fail(.violation(let reason)) = machine.handle(.redirected).last { reasons.append(reason) }
    }
    machine = UploadMachine(rules)
    _ = machine.handle(.begun(hasURL: false))
    let other = UploadAnswer(HTTPResponse(status: .preconditionFailed, headerFields: [.tusVersion: "2.0.0"]), .tus)
    if case .fail(.violation(let reason)) = machine.handle(.refused(other)).last { reasons.append(reason) }
    return reasons.map { .uploadMismatch($0) } + [.uploadTooLarge(10, limit: 5), .uploadChanged("/d/file")]
  }
}
