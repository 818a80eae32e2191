// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// Uploads to servers of the IETF's draft that report the offset with 104 (Upload Resumption Supported) after each KiB.
@Suite("Uploads whose server reports progress", .timeLimit(.minutes(15)))
struct InterimResponseTests {
  private static let pieceBytes = 1_024
  private static let pieces = 10_000
  private static let interopVersion = "8"

  @Test("Ten thousand interim responses over HTTP/1.1 are accepted")
  func http1() async throws {
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      #expect(head.method == "POST")
      if head.fields.contains(where: { $0.name.lowercased() == "expect" }) {
        try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
      }
      for piece in 1...Self.pieces {
        _ = try connection.read(exactly: Self.pieceBytes)
        try connection.write(
          "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: \(Self.interopVersion)\r\n"
            + "Location: /u/1\r\nUpload-Offset: \(piece * Self.pieceBytes)\r\n\r\n")
      }
      try connection.write("HTTP/1.1 200 OK\r\nUpload-Complete: ?1\r\nContent-Length: 4\r\n\r\ndone")
    }
    try await expectUpload(to: server, .http1)
  }

  @Test("Ten thousand interim responses over HTTP/2 are accepted")
  func http2() async throws {
    let server = try LoopbackServer.http2Script { connection in
      var received = 0
      while let frame = try connection.readFrame() {
        switch frame.kind {
        case .settings where frame.flags & LoopbackHTTP2Frame.acknowledgement == 0:
          try connection.write(
            LoopbackHTTP2Frame(.settings, flags: LoopbackHTTP2Frame.acknowledgement, stream: 0))
        case .data:
          let before = received / Self.pieceBytes
          received += frame.payload.count
          if !frame.payload.isEmpty {
            let count = UInt32(frame.payload.count)
            try connection.write(.windowUpdate(count, stream: 0), .windowUpdate(count, stream: frame.stream))
          }
          for piece in before..<received / Self.pieceBytes {
            try connection.write(
              .head(
                104,
                [
                  "upload-draft-interop-version": Self.interopVersion, "location": "/u/1",
                  "upload-offset": "\((piece + 1) * Self.pieceBytes)",
                ], stream: frame.stream))
          }
          if frame.flags & LoopbackHTTP2Frame.endStream != 0 {
            try connection.write(
              .head(200, ["upload-complete": "?1"], stream: frame.stream),
              .data("done".utf8, stream: frame.stream, ends: true))
          }
        default: break
        }
      }
    }
    try await expectUpload(to: server, .http2)
  }

  private func expectUpload(to server: LoopbackServer, _ version: ConnectionOptions.HTTPVersion) async throws {
    let folder = try TemporaryFolder()
    try Data(count: Self.pieces * Self.pieceBytes).write(to: URL(filePath: folder.file("f")))
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    engine.connection.httpVersion = version
    let stack = try CurlNetworkStack(engine, configuration: .patient)
    var options = UploadOptions()
    options.usesDraft = true
    options.sendsContentAtOnce = true
    let upload = try await stack.uploadFile(folder.file("f"), to: .get("\(server.baseURL)/files"), options: options)
    #expect(upload.requests == 1)
    #expect(upload.length == Int64(Self.pieces * Self.pieceBytes))
    await stack.shutDown(cancelling: true)
  }
}
