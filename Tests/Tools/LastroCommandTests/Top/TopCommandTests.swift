// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro top", .timeLimit(.minutes(15)))
struct TopCommandTests {
  @Test("The served snapshot is printed as a table and as JSON")
  func prints() async throws {
    let directory = try PeerDirectory()
    let path = "\(directory.path)/lastro.sock"
    let server = try LoopbackServer.http { _ in .text("answer") }
    let stack = try CurlNetworkStack()
    try await stack.warm([server.baseURL], connections: 3)
    let serving = Task { try await stack.serveSnapshot(at: path) }
    try #require(try await eventually { try await Lastro.run(["top", path]).status == 0 })

    let table = try await Lastro.run(["top", path])
    #expect(table.status == 0 && table.errors.isEmpty, "\(table.errors)")
    #expect(table.lines.count == 2 && table.lines[0].hasPrefix("pool"), "\(table.text)")
    #expect(table.lines[0].split(separator: " ").dropFirst() == ["active", "dialing", "idle", "requests", "waiting"])
    #expect(table.lines[1].split(separator: " ") == ["\(server.baseURL)", "0", "0", "3", "0", "0"])
    let object = try await Lastro.run(["top", path, "--json"]).json()
    let parts = try #require(object["parts"] as? [[String: Any]])
    #expect(parts.count == 1 && parts[0]["subject"] as? String == server.baseURL)
    serving.cancel()
    try await serving.value
  }

  @Test("A path where nobody serves, and an unusable interval, are refused")
  func refused() async throws {
    let directory = try PeerDirectory()
    let missing = try await Lastro.run(["top", "\(directory.path)/none.sock"])
    #expect(missing.status == 7 && missing.errors.contains("connect"), "\(missing.status) \(missing.errors)")
    #expect(try await Lastro.run(["top", "x.sock", "--every", "0"]).status == 64)
  }
}
