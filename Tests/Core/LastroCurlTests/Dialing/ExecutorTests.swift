// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// Tasks that run on the loop's thread, and jobs that start beside it.
@Suite("The loop's executor", .timeLimit(.minutes(15)))
struct ExecutorTests {
  private static var threadName: String {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return name.map { String($0.prefix { $0 != "\n" }) } ?? ""
  }

  @Test("A task on the executor fetches and continues on the loop's thread")
  func thread() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try CurlTransport()
    await withTaskExecutorPreference(engine.executor) {
      for _ in 0..<3 {
        #expect(Self.threadName == "lastro-loop")
        #expect(await engine.outcome(server) == .answered(200, "fine"))
      }
      #expect(Self.threadName == "lastro-loop")
    }
    #expect(Self.threadName != "lastro-loop")
    #expect(server.acceptedConnections == 1)
  }

  @Test("Many tasks on the executor fetch concurrently with other tasks")
  func many() async throws {
    let server = try LoopbackServer.http { request in .text(request.target) }
    let engine = try CurlTransport()
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        let executor = number.isMultiple(of: 2) ? engine.executor : nil
        group.addTask(executorPreference: executor) {
          await engine.outcome(server, "/\(number)") == .answered(200, "/\(number)")
        }
      }
      for await isRight in group { #expect(isRight) }
    }
    #expect(engine.activeTransfers == 0)
  }

  @Test("A stream is read, and a fetch cancelled, on the loop's thread")
  func bodies() async throws {
    let text = String(repeating: "lastro ", count: 400_000)
    let server = try LoopbackServer.http { _ in .text(text) }
    let silent = try LoopbackServer { connection in
      _ = try connection.readRequest()
      _ = connection.readToEnd()
    }
    let stack = try CurlNetworkStack.direct()
    try await withTaskExecutorPreference(stack.executor) {
      let resource = RawHTTPResource.raw(try ResourceRequest(url: "http://127.0.0.1:\(server.port)/"))
      var count = 0
      for try await chunk in try await stack.stream(resource).value { count += chunk.count }
      #expect(count == text.utf8.count)
      let task = Task { try await stack.fetch(.raw(try ResourceRequest(url: "http://127.0.0.1:\(silent.port)/"))) }
      try #require(await eventually { !silent.requests.isEmpty })
      task.cancel()
      await #expect(throws: RawFailure.self) { try await task.value }
    }
  }

  @Test("With several loops the requests of a task share one connection")
  func several() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try CurlTransport.with { $0.loops = 3 }
    await withTaskExecutorPreference(engine.executor) {
      for _ in 0..<6 { #expect(await engine.outcome(server) == .answered(200, "fine")) }
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test("Tasks outlive the engine's shutdown and continue on another executor")
  func end() async throws {
    let engine = try CurlTransport()
    let executor = engine.executor
    let (waiting, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task(executorPreference: executor) {
      for await _ in waiting {}
      return Self.threadName
    }
    await engine.shutDown()
    continuation.finish()
    #expect(await task.value != "lastro-loop")
    #expect(await Task(executorPreference: executor) { Self.threadName }.value != "lastro-loop")
  }

  @Test("A retained executor keeps its thread after its engine is released")
  func kept() async throws {
    let executor: any TaskExecutor = try CurlTransport().executor
    #expect(await Task(executorPreference: executor) { Self.threadName }.value == "lastro-loop")
  }
}
