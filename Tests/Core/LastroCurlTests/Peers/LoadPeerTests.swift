// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: under load", .serialized, .peers(.nginx), .timeLimit(.minutes(15)))
struct LoadPeerTests {
  /// Sends many concurrent fetches, and returns how many ended with each outcome.
  private func outcomes(_ count: Int, _ stack: CurlNetworkStack, _ url: String) async -> [String: Int] {
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<count {
        group.addTask {
          do throws(RawFailure) {
            return "\(try await stack.send(.get, url).response.status.code)"
          } catch {
            return error.words
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }

  @Test("2,000 concurrent fetches all succeed, over HTTP/1.1 and HTTP/2")
  func twoThousand() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .file(nginx.certificates.authority) }
    #expect(await outcomes(2000, stack, "http://127.0.0.1:\(nginx.ports.plain)/files/1k") == ["200": 2000])
    #expect(await outcomes(2000, stack, "https://localhost:\(nginx.ports.tls)/files/1k") == ["200": 2000])
    #expect(stack.activeTransfers == 0)
  }

  @Test("Several loops share the work")
  func loops() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct { $0.loops = 3 }
    #expect(await outcomes(600, stack, "http://127.0.0.1:\(nginx.ports.plain)/json") == ["200": 600])
  }

  @Test("1,000 cancelled fetches each end once with the cancelled error, and the stack stays usable")
  func cancellationStorm() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct()
    let url = "http://127.0.0.1:\(nginx.ports.plain)/slow/1m"
    let cancelled = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<1000 {
        group.addTask {
          let error = try await failure { try await stack.send(.get, url) }
          return error.isCancelled && error.words == "cancelled/cancelled"
        }
      }
      #expect(await eventually { stack.activeTransfers == 1000 })
      group.cancelAll()
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(cancelled == 1000)
    // The caller gets the error at once; the loop removes the transfers after that.
    #expect(await eventually { stack.activeTransfers == 0 })
    #expect(await outcomes(50, stack, "http://127.0.0.1:\(nginx.ports.plain)/json") == ["200": 50])
  }

  @Test("A stack that is dropped while it fetches or streams still completes that")
  func dropped() async throws {
    let nginx = try Peers.nginx
    let base = "http://127.0.0.1:\(nginx.ports.plain)"
    func body() async throws -> ResponseBody {
      try await CurlNetworkStack.direct().stream(.raw(ResourceRequest(url: base + "/files/1m"))).value
    }
    let bytes = try await body().collect(upTo: 1 << 20)
    #expect(sha256(bytes) == sha256(pattern(1 << 20)))
    let answer = try await CurlNetworkStack.direct().send(.get, base + "/files/1m")
    #expect(answer.value.count == 1 << 20)
  }

  @Test("A graceful shutdown lets running requests end and accepts no new ones")
  func graceful() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n")
      guard connection.wait(for: gate) else { return }
      try connection.write([UInt8](repeating: 1, count: 64 * 1024))
    }
    let stack = try CurlNetworkStack.direct()
    let url = "http://127.0.0.1:\(server.port)/"
    let stream = try await stack.stream(.raw(ResourceRequest(url: url))).value
    let running = Task { await outcomes(10, stack, url) }
    #expect(await eventually { stack.activeTransfers == 11 })
    async let end: Void = stack.shutDown()
    let other = "http://127.0.0.1:\(try Peers.nginx.ports.plain)/json"
    while await outcomes(1, stack, other)["cancelled/shut_down"] == nil {}
    gate.open()
    #expect(try await stream.collect(upTo: 64 * 1024).count == 64 * 1024)
    await end
    let outcome = await running.value
    #expect(outcome == ["200": 10])
    #expect(stack.activeTransfers == 0)
    let late = try await failure { try await stack.send(.get, url) }
    #expect(late.words == "cancelled/shut_down")
  }

  @Test("A cancelling shutdown ends running requests and streams")
  func cancelling() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct()
    let url = "http://127.0.0.1:\(nginx.ports.plain)/slow/1m"
    let stream = try await stack.stream(.raw(ResourceRequest(url: url)))
    let running = Task { await outcomes(50, stack, url) }
    #expect(await eventually { stack.activeTransfers == 51 })
    await stack.shutDown(cancelling: true)
    #expect(await running.value == ["cancelled/shut_down": 50])
    await #expect(throws: TransportError.self) { try await stream.value.collect(upTo: 1 << 21) }
  }

  /// Returns the number of descriptors and of loop threads of this process.
  private static func open() -> (descriptors: Int, threads: Int) {
    let files = FileManager.default
    let descriptors = (try? files.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
    let tasks = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
    return (descriptors, names.filter { $0.hasPrefix("lastro-loop") }.count)
  }

  @Test("Fetches, cancellations and dropped stacks leave no descriptor or thread behind", .ownThread)
  func leaks() async throws {
    let port = try Peers.nginx.ports.plain
    // The test runs in a process of its own, because other suites open and close descriptors meanwhile.
    await #expect(processExitsWith: .success) { [port = port as Int] in
      LoopbackServer.raiseDescriptorLimit()
      let base = "http://127.0.0.1:\(port)"
      for _ in 0..<3 { _ = try await CurlNetworkStack.direct().send(.get, base + "/json") }
      #expect(await eventually { LoadPeerTests.open().threads == 0 })
      let before = LoadPeerTests.open().descriptors
      for round in 0..<20 {
        let stack = try CurlNetworkStack.direct()
        await withTaskGroup(of: Void.self) { group in
          for index in 0..<40 {
            group.addTask {
              _ = try? await stack.send(.get, base + (index % 2 == 0 ? "/slow/1m" : "/json"))
            }
          }
          _ = await eventually { stack.activeTransfers <= 20 }
          group.cancelAll()
        }
        let stream = try await stack.stream(.raw(ResourceRequest(url: base + "/slow/1m")))
        if round % 2 == 0 { stream.value.cancel() }
        if round % 3 == 0 { await stack.shutDown(cancelling: true) }
      }
      // Waiting itself may have opened a timer of the runtime. A leak in twenty rounds would leave at least twenty
      // descriptors.
      let isBack = await eventually {
        let now = LoadPeerTests.open()
        return now.threads == 0 && now.descriptors <= before + 3
      }
      #expect(isBack, "\(LoadPeerTests.open()), before: \(before)")
    }
  }
}
