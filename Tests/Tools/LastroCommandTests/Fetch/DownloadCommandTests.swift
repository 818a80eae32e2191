// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch --download", .timeLimit(.minutes(15)))
struct DownloadCommandTests {
  private static let count = 20 << 20
  private static let content: [UInt8] = {
    var generator = SeededGenerator(seed: 18)
    return (0..<count / 8).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
  }()

  /// Returns a server with one file that supports range requests.
  ///
  /// - Parameter fault: the fault of a response with the whole file. A part is sent without.
  private static func server(fault: LoopbackResponse.Fault? = nil) throws -> LoopbackServer {
    try .http { request in
      var response = LoopbackResponse(headers: ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
      let from = request.head.values("Range").first.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
      guard let from, request.head.values("If-Range") == ["\"1\""] else {
        response.body = content
        response.fault = fault
        return response
      }
      response.status = from < count ? 206 : 416
      let range = from < count ? "\(from)-\(count - 1)" : "*"
      response.body = Array(content.dropFirst(from))
      return response.adding("Content-Range", "bytes \(range)/\(count)")
    }
  }

  private static func folder() throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private static func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  private static func start(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: Lastro.path)
    process.arguments = ["fetch"] + arguments
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// Kills a process with SIGKILL, which it cannot catch, and reaps it.
  private static func kill9(_ process: Process) async {
    kill(process.processIdentifier, SIGKILL)
    #expect(await eventually { !process.isRunning })
  }

  @Test("A complete file has its name, replaces an existing one, and --report describes it")
  func whole() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data("old".utf8).write(to: URL(filePath: folder + "/f"))
    let server = try LoopbackServer.http { _ in .text("answer") }
    let result = try await Lastro.run(["fetch", "--report", "--download", folder + "/f", server.baseURL])
    let json = try result.json()
    #expect(result.status == 0 && json["body_bytes"] as? Int == 6 && json["status"] as? Int == 200)
    let attempts = try #require(json["attempts"] as? [[String: Any]])
    #expect(attempts.last?["bytes_received"] as? Int ?? 0 >= 6)
    #expect(try Data(contentsOf: URL(filePath: folder + "/f")) == Data("answer".utf8))
    #expect(try Self.names(folder) == ["f"])
  }

  @Test("A wrong digest leaves no file, and has its exit status and code")
  func digest() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try LoopbackServer.http { _ in .text("answer") }
    let wrong = String(repeating: "0", count: 64)
    let result = try await Lastro.run([
      "fetch", "--download", folder + "/f", "--expect-sha256", wrong, server.baseURL,
    ])
    #expect(result.status == 56 && result.errors.contains("response/digest_mismatch"))
    #expect(try Self.names(folder).isEmpty)
  }

  @Test(
    "Conflicting flags are refused",
    arguments: [
      ["-C", "-"], ["--segments", "2"], ["--expect-sha256", "0"], ["--download", "f", "-C", "7"],
      ["--download", "f", "-o", "g"], ["--download", "f", "--segments", "2"],
    ])
  func flags(arguments: [String]) async throws {
    let result = try await Lastro.run(["fetch"] + arguments + ["http://127.0.0.1:1/"])
    #expect(result.status == 64)
  }

  /// Returns the number of bytes that the state file in a folder describes.
  private static func synced(_ folder: String) -> Int {
    guard let data = try? Data(contentsOf: URL(filePath: folder + "/f.part.json")),
      let state = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
      let done = state["done"] as? [[String: Any]]
    else { return 0 }
    return done.first?["to"] as? Int ?? 0
  }

  @Test(
    "A process killed after its first bytes, or after more, leaves a part that another resumes with -C -",
    arguments: [(300_000, 1), (17 << 20, 16 << 20)])
  func resumed(received: Int, synced: Int) async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try Self.server(fault: .stallBody(after: received))
    let flags = ["--download", folder + "/f", "-C", "-"]
    let process = try Self.start(flags + [server.baseURL])
    #expect(
      await eventually {
        let size = (try? FileManager.default.attributesOfItem(atPath: folder + "/f.part"))?[.size] as? Int
        return size == received && Self.synced(folder) >= synced
      })
    await Self.kill9(process)
    #expect(try Self.names(folder) == ["f.part", "f.part.json"])
    let result = try await Lastro.run(["fetch", "-w", "%{size_download}"] + flags + [server.baseURL])
    #expect(result.status == 0, "\(result.errors)")
    #expect(try #require(Int(result.text)) < Self.count)
    #expect(try Data(contentsOf: URL(filePath: folder + "/f")) == Data(Self.content))
    #expect(try Self.names(folder) == ["f"])
  }

  @Test("SIGINT and SIGTERM save the state, however little has arrived", arguments: [SIGINT, SIGTERM])
  func interrupted(signal: Int32) async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try Self.server(fault: .stallBody(after: 300_000))
    let flags = ["--download", folder + "/f", "-C", "-"]
    let process = try Self.start(flags + [server.baseURL])
    #expect(
      await eventually {
        (try? FileManager.default.attributesOfItem(atPath: folder + "/f.part"))?[.size] as? Int == 300_000
      })
    kill(process.processIdentifier, signal)
    #expect(await eventually { !process.isRunning })
    #expect(process.terminationReason == .exit && process.terminationStatus == 130)
    #expect(try Self.names(folder) == ["f.part", "f.part.json"])
    let result = try await Lastro.run(["fetch", "-w", "%{size_download}"] + flags + [server.baseURL])
    #expect(result.status == 0 && result.text == "\(Self.count - 300_000)", "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder + "/f")) == Data(Self.content))
  }

  @Test("-v says why a download could not have been resumed")
  func obstacle() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try LoopbackServer.http { _ in LoopbackResponse(headers: ["ETag": "W/\"1\""], body: [1, 2, 3]) }
    let result = try await Lastro.run(["fetch", "-v", "--download", folder + "/f", "-C", "-", server.baseURL])
    #expect(result.status == 0 && result.errors.contains("could not have been resumed: the server's ETag is weak"))
  }

  @Test("Processes killed at random points never leave a wrong file, and the last one completes it")
  func killed() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try Self.server()
    let flags = ["--download", folder + "/f", "-C", "-", server.baseURL]
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<12 {
      let process = try Self.start(flags)
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...250, using: &generator)))
      await Self.kill9(process)
      if let found = try? Data(contentsOf: URL(filePath: folder + "/f")) { #expect(found == Data(Self.content)) }
    }
    let result = try await Lastro.run(["fetch"] + flags)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder + "/f")) == Data(Self.content))
    #expect(try Self.names(folder) == ["f"])
  }
}
