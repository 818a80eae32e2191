// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTunnels
import Testing

@Suite("obfs4: sessions, both sides")
struct Obfs4SessionTests {
  let vectors: Obfs4Vectors

  init() throws { vectors = try Obfs4Vectors.read() }

  @Test("Both sides send the transcript of the vectors")
  func transcript() throws {
    #expect(try Obfs4Primitives.sha256(vectors.serverBytes) == vectors.session.server_bytes_sha256.bytes)
    var client = try vectors.client()
    guard var session = try client.receive(vectors.serverBytes) else { throw Missing() }
    var sent = client.hello
    for frame in vectors.frames.client_to_server {
      try session.writer.write(
        type: frame.type, payload: frame.payload.bytes[...], padding: frame.padding, into: &sent)
    }
    #expect(try Obfs4Primitives.sha256(sent) == vectors.session.client_bytes_sha256.bytes)
  }

  @Test("A client reads the transcript whole, byte by byte, and cut at each offset")
  func clientReads() throws {
    let bytes = vectors.serverBytes
    let template = try vectors.client()
    #expect(try read(bytes, by: template, in: [bytes.count]) == Array("world!".utf8))
    #expect(try read(bytes, by: template, in: [Int](1...bytes.count)) == Array("world!".utf8))
    for cut in 1..<bytes.count {
      #expect(try read(bytes, by: template, in: [cut, bytes.count]) == Array("world!".utf8), "cut at \(cut)")
    }
  }

  /// Returns the bytes that a client's application reads. The client's seed must be the later one of two.
  private func read(_ bytes: [UInt8], by template: Obfs4ClientHandshake, in ends: [Int]) throws -> [UInt8] {
    var client = template
    var output: [UInt8] = []
    var start = 0
    var pieces = ends.map { end in
      defer { start = end }
      return bytes[start..<end]
    }[...]
    while let piece = pieces.popFirst() {
      guard let session = try client.receive(piece) else { continue }
      let leftover = session.leftover
      var reader = session.reader
      try reader.receive(leftover, into: &output)
      for piece in pieces { try reader.receive(piece, into: &output) }
      let isWithinFrame = reader.isWithinFrame
      #expect(!isWithinFrame)
      let seed = reader.takeSeed()
      #expect(seed == vectors.frames.server_to_client[3].payload.bytes)
      // A client makes one session only: two writers would have one key.
      try expectNoSession(try client.receive(bytes))
      return output
    }
    throw Missing()
  }

  @Test("A server reads the transcript cut at each offset behind the hello")
  func serverReads() throws {
    let frames = vectors.frames.client_to_server.flatMap(\.frame.bytes)
    let expected = Array("hellox".utf8) + (try Obfs4Vectors.repeatable("full", 1427)) + Array("after".utf8)
    for cut in 0...frames.count {
      // The handshake is expensive and always the same, so the reader starts after it.
      var reader = try Obfs4FrameReader(keys: vectors.kdf.client_to_server.bytes[...], lengthOfNonsense: 99)
      var output: [UInt8] = []
      try reader.receive(frames[..<cut], into: &output)
      try reader.receive(frames[cut...], into: &output)
      #expect(output == expected, "cut at \(cut)")
    }
    var pair = try Pair(vectors)
    var output: [UInt8] = []
    for byte in frames { try pair.server.reader.receive(CollectionOfOne(byte), into: &output) }
    #expect(output == expected)
  }

  @Test("A server answers once")
  func oneAnswer() throws {
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    let hello = vectors.handshake.client_hello.bytes
    try expectAnswer(try server.receive(hello, seen: &seen))
    try expectNoAnswer(try server.receive(hello, seen: &seen))
    try expectNoAnswer(try server.receive([UInt8](), seen: &seen))
  }

  @Test("Client and server exchange bytes in both directions", arguments: [1, 1427, 1428, 64 << 10, 4 << 20])
  func bothWays(count: Int) throws {
    let bytes = Obfs4SessionTests.pattern(count)
    for mode in WispServer.Timing.allCases where count <= 64 << 10 || mode == .immediate {
      let pair = try Pair(vectors)
      let client = pair.client
      let server = pair.server
      let seed = [UInt8](repeating: UInt8(mode.rawValue + 1), count: 24)
      var up = try Obfs4Traffic(client.writer, mode: mode, seed: seed, random: .seeded(1))
      var down = try Obfs4Traffic(server.writer, mode: mode, seed: seed, random: .seeded(2))
      var clientSide = client.reader
      var serverSide = server.reader
      var received: (up: [UInt8], down: [UInt8]) = ([], [])
      // Parts are sent in both directions in turn.
      for start in stride(from: 0, to: count, by: Obfs4Traffic.maximumPart) {
        let part = bytes[start..<min(count, start + Obfs4Traffic.maximumPart)]
        for piece in try up.burst(part) { try serverSide.receive(piece.bytes, into: &received.up) }
        for piece in try down.burst(part) { try clientSide.receive(piece.bytes, into: &received.down) }
      }
      #expect(received.up == bytes, "\(mode)")
      #expect(received.down == bytes, "\(mode)")
      let isWithinFrame = clientSide.isWithinFrame || serverSide.isWithinFrame
      #expect(!isWithinFrame)
    }
  }

  @Test("Fresh keys of the system agree, with any padding")
  func systemRandom() throws {
    let random = RandomSource.system
    for _ in 0..<5 {
      let identity = try #require(try Obfs4ServerIdentity(nodeID: random.bytes(20), secret: random.bytes(32)))
      let hour = 500_000
      var client = try Obfs4ClientHandshake(
        to: identity.identity, keyPair: .generate(using: random), hour: hour, random: random)
      var server = Obfs4ServerHandshake(
        as: identity, keyPair: try .generate(using: random), hour: hour, random: random)
      var seen = Obfs4ReplayFilter()
      guard let answer = try server.receive(client.hello, seen: &seen) else { throw Missing() }
      var bytes = answer.response
      var serverSide = answer.takeSession()
      try serverSide.writer.write(payload: [1, 2, 3], padding: 9, into: &bytes)
      guard var clientSide = try client.receive(bytes) else { throw Missing() }
      let leftover = clientSide.leftover
      var output: [UInt8] = []
      try clientSide.reader.receive(leftover, into: &output)
      #expect(output == [1, 2, 3])
    }
  }

  @Test("A certificate of another server gets no answer, and another key no session")
  func strangers() throws {
    let random = RandomSource.seeded(3)
    var seen = Obfs4ReplayFilter()
    let right = try vectors.identity
    let nodeID = try #require(Obfs4Identity(nodeID: [UInt8](repeating: 1, count: 20), publicKey: right.publicKey))
    let publicKey = try #require(Obfs4Identity(nodeID: right.nodeID, publicKey: vectors.ntor.X.bytes))
    for identity in [nodeID, publicKey] {
      let client = try Obfs4ClientHandshake(
        to: identity, keyPair: vectors.clientKeyPair, hour: vectors.handshake.epoch_hour, random: random)
      var server = try vectors.server()
      try expectNoAnswer(try server.receive(client.hello, seen: &seen))
    }
  }

  static func pattern(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      for place in 0..<count { bytes[place] = UInt8(truncatingIfNeeded: place &* 167 &+ place >> 8) }
      filled = count
    }
  }

  struct Missing: Error {}
}

/// The two sides of a session.
private struct Pair: ~Copyable {
  var client: Obfs4Session
  var server: Obfs4Session

  init(_ vectors: Obfs4Vectors) throws {
    var client = try vectors.client()
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    guard let answer = try server.receive(client.hello, seen: &seen) else { throw Obfs4SessionTests.Missing() }
    let response = answer.response
    let serverSide = answer.takeSession()
    guard let clientSide = try client.receive(response) else { throw Obfs4SessionTests.Missing() }
    self.client = clientSide
    self.server = serverSide
  }
}
