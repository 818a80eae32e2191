// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import PeerSupport
import TestSupport
import Testing

@Suite("Downloads from nginx", .peers(.nginx), .timeLimit(.minutes(15)))
struct NginxDownloadTests {
  private static func stack(_ edit: (inout StackConfiguration) -> Void = { _ in }) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    var configuration = StackConfiguration()
    edit(&configuration)
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  private static func url(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  private static func expected(_ count: Int) -> Data { Data((0..<count).map { UInt8($0 % 251) }) }

  private static func content(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  @Test("Files of any length are downloaded", arguments: [("0", 0), ("1", 1), ("64k", 65_536), ("1m", 1 << 20)])
  func whole(name: String, count: Int) async throws {
    let folder = try TemporaryFolder()
    let stack = try Self.stack()
    let file = try await stack.download(.get(Self.url("/files/\(name)")), to: folder.file("file"))
    #expect(try Self.content(folder.file("file")) == Self.expected(count))
    #expect(file.length == count && file.entityTag?.hasPrefix("\"") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    await stack.shutDown(cancelling: true)
  }

  @Test("Text that nginx would compress arrives uncompressed, because no coding is requested")
  func uncompressed() async throws {
    let folder = try TemporaryFolder()
    let stack = try Self.stack()
    let file = try await stack.download(.get(Self.url("/text")), to: folder.file("file"))
    #expect(file.length == 65_536 && file.contentEncoding == nil && file.resumedFrom == 0)
    await stack.shutDown(cancelling: true)
  }

  @Test("A cancelled download is resumed by another stack from its last byte")
  func resumed() async throws {
    let folder = try TemporaryFolder()
    let first = try Self.stack()
    let reporter = TransferProgressReporter()
    var options = DownloadOptions()
    // `/slow/64k` and `/files/64k` are the same file.
    options.identity = "64k"
    options.progress = reporter
    let slow = try Self.url("/slow/64k")
    let task = Task { [options] in try await first.download(.get(slow), to: folder.file("file"), options: options) }
    #expect(await eventually { reporter.current.bytesReceived > 0 })
    task.cancel()
    _ = await task.result
    await first.shutDown(cancelling: true)
    #expect(!FileManager.default.fileExists(atPath: folder.file("file")))
    let second = try Self.stack()
    options.progress = nil
    let file = try await second.download(.get(Self.url("/files/64k")), to: folder.file("file"), options: options)
    #expect(try Self.content(folder.file("file")) == Self.expected(65_536))
    #expect(file.resumedFrom > 0 && file.restarts == 0)
    await second.shutDown(cancelling: true)
  }

  @Test("A second download to the same file fails while the first is running")
  func inProgress() async throws {
    let folder = try TemporaryFolder()
    let stack = try Self.stack()
    let reporter = TransferProgressReporter()
    var options = DownloadOptions()
    options.progress = reporter
    let slow = try Self.url("/slow/64k")
    let task = Task { [options] in try await stack.download(.get(slow), to: folder.file("file"), options: options) }
    #expect(await eventually { reporter.current.bytesReceived > 0 })
    let error = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await stack.download(.get(slow), to: folder.file("file"))
    }
    #expect(error?.words == "request/download_in_progress")
    task.cancel()
    _ = await task.result
    await stack.shutDown(cancelling: true)
  }
}
