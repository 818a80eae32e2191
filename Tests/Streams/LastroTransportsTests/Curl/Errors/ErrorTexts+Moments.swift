// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroTunnels
@testable import LastroWebSocket
@testable import LastroWire

extension ErrorTexts {
  /// A signer that an application wrote.
  private struct Signer: RequestSigner {
    let origins: [Origin]
    let clock: ManualClock?

    func sign(
      _ request: ResourceRequest, bodyDigest: BodyDigest, context: AttemptContext
    ) async throws -> ResourceRequest {
      if let clock { await ErrorTexts.hang(clock) }
      return try .test(url: "https://elsewhere.example/")
    }
  }

  /// Lets time pass until the call goes on without the hook, and cancels it.
  private static func hang(_ clock: ManualClock) async {
    _ = await eventually {
      clock.advance(by: .seconds(60))
      return Task.isCancelled
    }
  }

  /// What is refused, or ends, while a call is in progress.
  static func callsInProgress() async throws -> Self {
    var texts = Self()
    func fetch(
      _ clock: ManualClock = ManualClock(), interceptors: [any HTTPResourceInterceptor] = [],
      edit: (inout StackConfiguration) -> Void = { _ in }, make: @escaping @Sendable () async -> Void = {}
    ) async throws {
      let stack = TransportNetworkStack(
        ScriptedTransport([.respond(status: 200)]), time: clock.timeSource,
        timeouts: try Timeouts(connect: nil, idle: nil, total: .seconds(30)), configure: edit)
      let making = BaseRequestMaking<ResourceRequest> {
        await make()
        return try .test()
      }
      await texts.provoke {
        try await stack.fetch(RawHTTPResource(baseRequestMaking: making, interceptors: interceptors))
      }
    }
    let origins = [try Origin("https://example.com")]
    try await fetch(edit: { $0.maximumRetryAfter = .seconds(-1) })
    try await fetch(edit: { $0.signers = [Signer(origins: origins, clock: nil)] })
    let clocks = (0..<4).map { _ in ManualClock() }
    try await fetch(clocks[0], make: { await hang(clocks[0]) })
    try await fetch(
      clocks[1],
      interceptors: [
        Hooks(make: { result, _ in
          await hang(clocks[1])
          return result
        })
      ])
    try await fetch(clocks[2], interceptors: [Hooks(scheduled: { _, _ in await hang(clocks[2]) })])
    try await fetch(clocks[3], edit: { $0.signers = [Signer(origins: origins, clock: clocks[3])] })
    return texts
  }

  /// What is refused on streams that are open, or on the way there.
  static func openStreams() async throws -> Self {
    var texts = Self()
    let server = try LoopbackWebSocketServer()
    let socket = try await WebSocketClient(dialer: CurlDialer.shared).connect("ws://127.0.0.1:\(server.port)/")
    await texts.provoke { try await socket.ping(Data(count: 126)) }
    await texts.provoke { try await socket.close(WebSocketCloseCode(rawValue: 1006)) }
    await texts.provoke { try await socket.close(nil, reason: "a") }
    await texts.provoke { try await socket.close(.normal, reason: String(repeating: "a", count: 124)) }
    await texts.provoke { try await socket.sendFragments(.binary) { try await $0.write("a") } }
    await texts.provoke { try await socket.sendFragments(.text) { try await $0.write(Data([1])) } }
    socket.cut()
    let handshake = WebSocketHandshakeTransport(
      dialer: NowhereDialer(), configuration: WebSocketConfiguration(), random: .seeded(1), time: .continuous)
    for (method, body) in [(HTTPRequest.Method.post, RequestBody.empty), (.get, .raw([1]))] {
      let head = HTTPRequest(method: method, scheme: "https", authority: "a.example", path: "/")
      await texts.provoke { try await handshake.execute(TransferRequest(head: head, body: body)) }
    }
    let datagrams = try LoopbackDatagramServer { .answer($0.bytes) }
    let stream = try await CurlDialer.shared.dialDatagrams(
      DialRequest(host: "127.0.0.1", port: datagrams.port, connectTimeout: nil))
    await texts.provoke { try await stream.send(Data(count: 65_508)) }
    let hosts: [SOCKS5Address.Host] = [.name(String(repeating: "a", count: 256)), .ipv4([1])]
    for host in hosts {
      do throws(SOCKS5Failure) {
        _ = try SOCKS5Machine(host: host, port: 1)
      } catch {
        texts.add("SOCKS5Failure", error.message)
      }
    }
    return texts
  }
}
