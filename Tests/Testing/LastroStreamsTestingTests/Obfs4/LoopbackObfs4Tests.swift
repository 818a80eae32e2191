// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Loopback obfs4 server", .timeLimit(.minutes(15)))
struct LoopbackObfs4Tests {
  private static let request = DialRequest(host: "any.test", port: 1, connectTimeout: nil)

  private func start(
    _ edit: (inout LoopbackObfs4Behavior) -> Void = { _ in }
  ) throws -> LoopbackObfs4Server {
    var behavior = LoopbackObfs4Behavior()
    edit(&behavior)
    return try LoopbackObfs4Server(behavior, time: ManualClock().timeSource)
  }

  /// Returns the first message of a client.
  private func opening(to bridge: LoopbackObfs4Server, hour: Int, seed: UInt64 = 1) throws -> [UInt8] {
    let certificate = try #require(Data(base64Encoded: bridge.certificate + "=="))
    let identity = try #require(Obfs4Identity(certificate: Array(certificate)))
    let random = RandomSource.seeded(seed)
    let keyPair = try Obfs4KeyPair.generate(using: random)
    return try Obfs4ClientHandshake(to: identity, keyPair: keyPair, hour: hour, random: random).hello
  }

  private func isAnswered(_ hello: [UInt8], by bridge: LoopbackObfs4Server) throws -> Bool {
    let client = try LoopbackClient(to: bridge.server.endpoint)
    try client.send(hello)
    client.halfClose()
    return !client.receiveAll().text.isEmpty
  }

  @Test("A bridge line leads to the server, and each server has its own certificate")
  func bridgeLine() async throws {
    let bridge = try start()
    #expect(bridge.bridgeLine == "obfs4 127.0.0.1:\(bridge.port) cert=\(bridge.certificate) iat-mode=0")
    #expect(bridge.certificate.utf8.count == 70)
    #expect(try start().certificate != bridge.certificate)
    let server = try WispServer(bridge.bridgeLine)
    for longestRead in [1, Int.max] {
      let dialer = WispDialer(
        server, over: bridge.dialer(shape: .init(longestRead: longestRead)), time: ManualClock().timeSource)
      try await dialer.dial(Self.request).expectEcho(3000)
    }
  }

  @Test("A hello of the server's hour, the previous and the next one is answered once", arguments: [0, 5])
  func hours(ahead: Int) throws {
    let bridge = try start { $0.hoursAhead = ahead }
    let now = Int(ManualClock.epoch / .seconds(3600)) + ahead
    for distance in -2...2 {
      let hello = try opening(to: bridge, hour: now + distance, seed: UInt64(10 + distance))
      #expect(try isAnswered(hello, by: bridge) == (abs(distance) < 2))
      #expect(try !isAnswered(hello, by: bridge))
    }
  }

  @Test("The server is silent to a hello for another certificate and to invalid input")
  func strangers() throws {
    let bridge = try start()
    let hour = Int(ManualClock.epoch / .seconds(3600))
    #expect(try !isAnswered(opening(to: start(), hour: hour), by: bridge))
    #expect(try !isAnswered([UInt8](repeating: 0, count: 8192), by: bridge))
    #expect(try isAnswered(opening(to: bridge, hour: hour), by: bridge))
  }

  @Test("Numbers out of range do not trap")
  func strangeNumbers() async throws {
    let late = try start { $0.hoursAhead = .max }
    #expect(try !isAnswered(opening(to: late, hour: 0), by: late))
    let bridge = try start {
      $0.responsePadding = -1
      $0.pieceBytes = 0
      $0.reply = [.part([1], bytes: -1), .end]
    }
    let dialer = WispDialer(
      try WispServer(bridge.bridgeLine), over: bridge.dialer(), time: ManualClock().timeSource)
    let stream = try await dialer.dial(Self.request)
    try await stream.write(Data([1]))
    #expect(try await stream.read() == nil)
  }
}
