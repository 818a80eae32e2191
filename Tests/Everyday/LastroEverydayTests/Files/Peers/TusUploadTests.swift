// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import PeerSupport
import TestSupport
import Testing

@Suite("Uploads to fastapi-tusd", .peers(.tus), .timeLimit(.minutes(15)))
struct TusUploadTests {
  private static func stack() throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine, configuration: .patient)
  }

  private static func file(_ count: Int, in folder: TemporaryFolder) throws -> Data {
    let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    try content.write(to: URL(filePath: folder.file("f")))
    return content
  }

  private static func files() throws -> String { "http://127.0.0.1:\(try Peers.tus.port)/files" }

  @Test("A file is uploaded in one request or in several", arguments: [nil, 100_000] as [Int64?])
  func whole(bytesPerAppend: Int64?) async throws {
    let folder = try TemporaryFolder()
    let content = try Self.file(1_000_000, in: folder)
    let stack = try Self.stack()
    var options = UploadOptions(.tus)
    options.bytesPerAppend = bytesPerAppend
    options.metadata = ["filename": "ä.bin"]
    let upload = try await stack.uploadFile(folder.file("f"), to: .get(Self.files()), options: options)
    #expect(upload.requests == (bytesPerAppend == nil ? 2 : 11))
    #expect(try await stack.fetch(.get(#require(upload.url))).value == content)
    await stack.shutDown(cancelling: true)
  }

  @Test("An upload that another process began is resumed by its token")
  func resumed() async throws {
    let folder = try TemporaryFolder()
    let content = try Self.file(1_000_000, in: folder)
    let stack = try Self.stack()
    let kept = Lock<UploadToken?>(nil)
    var options = UploadOptions(.tus)
    options.bytesPerAppend = 100_000
    options.onToken = { token in kept.withLock { $0 = token } }
    let reporter = TransferProgressReporter()
    options.progress = reporter
    let files = try Self.files()
    let task = Task { [options] in
      try await stack.upload(file: folder.file("f"), to: .get(files), options: options)
    }
    #expect(await eventually { reporter.current.bytesSent > 150_000 })
    task.cancel()
    _ = await task.result
    let token = try #require(kept.withLock { $0 })
    let upload = try await stack.uploadFile(
      folder.file("f"), to: .get(files), resuming: token, options: UploadOptions())
    #expect(upload.resumedFrom > 0 && upload.url == token.url)
    #expect(try await stack.fetch(.get(token.url)).value == content)
    await stack.shutDown(cancelling: true)
  }

  @Test("A deleted upload no longer exists, and reports the status")
  func gone() async throws {
    let folder = try TemporaryFolder()
    _ = try Self.file(10, in: folder)
    let stack = try Self.stack()
    let files = try Self.files()
    let kept = Lock<UploadToken?>(nil)
    var options = UploadOptions(.tus)
    options.onToken = { token in kept.withLock { $0 = token } }
    _ = try await stack.upload(file: folder.file("f"), to: .get(files), options: options)
    let token = try #require(kept.withLock { $0 })
    try await stack.cancelUpload(token, as: .get(files))
    try await stack.cancelUpload(token, as: .get(files))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await stack.upload(file: folder.file("f"), to: .get(files), resuming: token)
    }
    #expect(error?.statusCode == .notFound)
    await stack.shutDown(cancelling: true)
  }
}
