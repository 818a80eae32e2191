// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// Buffers of large bodies are reused. Bytes that a caller keeps must not change.
@Suite("Retained bodies", .timeLimit(.minutes(15)))
struct KeptBodyTests {
  @Test(
    "Bodies keep their bytes when eight requests run at a time and some bodies are retained", arguments: [false, true])
  func engine(isChunked: Bool) async throws {
    let sizes = [10, 60_000, 70_000, 1 << 20, 1_500_000]
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        let size = Int(head.path.dropFirst()) ?? 0, content = pattern(size)
        if isChunked {
          let chunk = "\(String(size, radix: 16))\r\n"
          try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)")
          try connection.write(content)
          try connection.write("\r\n0\r\n\r\n")
        } else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
          try connection.write(content)
        }
      }
    }
    let transport = try CurlTransport()
    let kept = try await withThrowingTaskGroup(of: [(Int, Data)].self) { group in
      for task in 0..<8 {
        group.addTask {
          var kept: [(Int, Data)] = []
          for round in 0..<20 {
            let size = sizes[(task + round) % sizes.count]
            let bytes = try await transport.execute(.to(server, "/\(size)")).body.bytes
            #expect(bytes == pattern(size))
            if round % 4 == 0, let bytes { kept.append((size, bytes)) }
          }
          return kept
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(kept.count == 40)
    for (size, bytes) in kept { #expect(bytes == pattern(size)) }
  }
}
