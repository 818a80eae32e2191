// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTunnels
import TestSupport
import Testing

@Suite("obfs4: handshake", .ownThread)
struct Obfs4HandshakeTests {
  let vectors: Obfs4Vectors

  init() throws { vectors = try Obfs4Vectors.read() }

  @Test("The hello is that of the vectors, and its mark precedes the MAC")
  func hello() throws {
    let hello = try vectors.client().hello
    #expect(hello == vectors.handshake.client_hello.bytes)
    #expect(hello.dropLast(16).suffix(16).elementsEqual(vectors.handshake.client_mark.bytes))
  }

  @Test("The MAC covers the hour in decimal digits")
  func hours() throws {
    let padding = vectors.handshake.client_padding.bytes
    for (hour, mac) in vectors.handshake.client_mac_by_hour {
      let random = RandomSource.scripted([drawing(padding.count, from: 77...8128), padding])
      let client = try Obfs4ClientHandshake(
        to: vectors.identity, keyPair: vectors.clientKeyPair, hour: try #require(Int(hour)), random: random)
      #expect(client.hello.suffix(16).elementsEqual(mac.bytes), "\(hour)")
    }
  }

  @Test("A hello has 141 to 8192 bytes", arguments: [77, 78, 8127, 8128])
  func helloLengths(padding: Int) throws {
    let random = RandomSource.scripted([drawing(padding, from: 77...8128)])
    let client = try Obfs4ClientHandshake(
      to: vectors.identity, keyPair: vectors.clientKeyPair, hour: 0, random: random)
    #expect(client.hello.count == 64 + padding)
    let lengths = vectors.handshake.hello_lengths
    #expect((lengths.least...lengths.most).contains(client.hello.count))
    var server = try vectors.server(hour: 0)
    var seen = Obfs4ReplayFilter()
    try expectAnswer(try server.receive(client.hello, seen: &seen))
  }

  @Test("The server's response is that of the vectors, in any split of the hello")
  func response() throws {
    let hello = vectors.handshake.client_hello.bytes
    for cut in 0...hello.count {
      var server = try vectors.server()
      var seen = Obfs4ReplayFilter()
      let first = try server.receive(hello[..<cut], seen: &seen)?.response
      let response = try first ?? server.receive(hello[cut...], seen: &seen)?.response
      #expect(response == vectors.handshake.server_response.bytes, "cut at \(cut)")
      #expect((first == nil) == (cut < hello.count))
    }
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    let answers = try hello.map { try server.receive(CollectionOfOne($0), seen: &seen)?.response }
    #expect(answers == hello.dropLast().map { _ in nil } + [vectors.handshake.server_response.bytes])
  }

  @Test("A server accepts its clock's hour, the previous and the next one")
  func clocks() throws {
    for (text, verdict) in vectors.handshake.a_server_whose_clock_says {
      let hour = try #require(Int(text))
      var server = try vectors.server(hour: hour)
      var seen = Obfs4ReplayFilter()
      if verdict == "accepts" {
        let response = try server.receive(vectors.handshake.client_hello.bytes, seen: &seen)?.response
        // The response covers the client's hour, whatever the server's clock says.
        #expect(response == vectors.handshake.server_response.bytes)
      } else {
        #expect(throws: Obfs4Failure.wrongMAC) { try response(of: &server, seen: &seen) }
      }
    }
  }

  @Test("A server answers no hello twice within three hours")
  func replays() throws {
    var seen = Obfs4ReplayFilter()
    var first = try vectors.server()
    #expect(try response(of: &first, seen: &seen) != nil)
    var second = try vectors.server()
    #expect(throws: Obfs4Failure.replayed) { try response(of: &second, seen: &seen) }
    #expect(throws: Obfs4Failure.replayed) { try response(of: &second, seen: &seen) }
    var later = try vectors.server(hour: vectors.handshake.epoch_hour + 1)
    #expect(throws: Obfs4Failure.replayed) { try response(of: &later, seen: &seen) }
  }

  @Test("The replay filter forgets after three hours and is bounded")
  func replayFilter() {
    var seen = Obfs4ReplayFilter()
    let rows: [(UInt8, hour: Int, isNew: Bool)] = [
      (1, 10, true), (1, 10, false), (1, 12, false), (2, 12, true), (1, 13, true), (1, 13, false),
    ]
    for (mac, hour, expected) in rows {
      let isNew = seen.isNew([mac], hour: hour)
      #expect(isNew == expected, "\(mac) at \(hour)")
    }
    var full = Obfs4ReplayFilter(maximumCount: 3)
    let fullRows: [(UInt8, hour: Int, isNew: Bool)] = [
      (0, 0, true), (1, 0, true), (2, 0, true), (9, 2, false), (9, 3, true), (0, 3, true),
    ]
    for (mac, hour, expected) in fullRows {
      let isNew = full.isNew([mac], hour: hour)
      #expect(isNew == expected, "\(mac) at \(hour)")
    }
  }

  @Test("A server does not answer while a byte follows the hello, and gives up at 8192 bytes")
  func trailingBytes() throws {
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    let hello = vectors.handshake.client_hello.bytes
    try expectNoAnswer(try server.receive(hello + [0], seen: &seen))
    try expectNoAnswer(
      try server.receive([UInt8](repeating: 0, count: 8191 - hello.count - 1), seen: &seen))
    #expect(throws: Obfs4Failure.noMark) { _ = try server.receive([0], seen: &seen) == nil }
    #expect(throws: Obfs4Failure.noMark) { _ = try server.receive(hello, seen: &seen) == nil }
  }

  @Test("A server ignores a hello with less or more padding than allowed", arguments: [76, 8129])
  func wrongPadding(count: Int) throws {
    let identity = try vectors.identity
    let key = identity.publicKey + identity.nodeID
    let representative = vectors.ntor.X_representative.bytes
    let mark = try Obfs4Primitives.hmac(key: key, representative).prefix(16)
    let message = representative + [UInt8](repeating: 3, count: count) + mark
    let hour = [UInt8](String(vectors.handshake.epoch_hour).utf8)
    let hello = message + (try Obfs4Primitives.hmac(key: key, message + hour).prefix(16))
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    if count == 76 {
      try expectNoAnswer(try server.receive(hello, seen: &seen))
    } else {
      #expect(throws: Obfs4Failure.noMark) { _ = try server.receive(hello, seen: &seen) == nil }
    }
  }

  @Test("A server refuses a low-order key in the hello")
  func lowOrderHello() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    let pair = Obfs4KeyPair(secret: vectors.ntor.x.bytes, publicKey: zero, representative: zero)
    let random = RandomSource.seeded(1)
    let hour = vectors.handshake.epoch_hour
    let client = try Obfs4ClientHandshake(to: vectors.identity, keyPair: pair, hour: hour, random: random)
    var server = try vectors.server()
    var seen = Obfs4ReplayFilter()
    #expect(throws: Obfs4Failure.zeroSharedSecret) { _ = try server.receive(client.hello, seen: &seen) == nil }
  }

  @Test("A client refuses a low-order key in the response or the certificate")
  func lowOrderResponse() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    let certified = try #require(Obfs4Identity(nodeID: vectors.ntor.node_id.bytes, publicKey: zero))
    for (identity, representative) in [
      (try vectors.identity, zero), (certified, vectors.ntor.Y_representative.bytes),
    ] {
      let random = RandomSource.seeded(1)
      var client = try Obfs4ClientHandshake(
        to: identity, keyPair: vectors.clientKeyPair, hour: 5, random: random)
      let key = identity.publicKey + identity.nodeID
      let mark = try Obfs4Primitives.hmac(key: key, representative).prefix(16)
      let message = representative + zero + mark
      let mac = try Obfs4Primitives.hmac(key: key, message + [UInt8(ascii: "5")]).prefix(16)
      #expect(throws: Obfs4Failure.zeroSharedSecret) { _ = try client.receive(message + mac) == nil }
    }
  }

  @Test("A client refuses the vectors' invalid responses")
  func responsesToRefuse() throws {
    for row in vectors.handshake.responses_to_refuse {
      for isCut in [false, true] {
        var client = try vectors.client()
        let expected: Obfs4Failure = row.why.hasPrefix("AUTH") ? .wrongAuthentication : .wrongMAC
        #expect(throws: expected, "\(row.why)") {
          for byte in isCut ? row.response.bytes.map({ [$0] }) : [row.response.bytes] {
            try expectNoSession(try client.receive(byte))
          }
        }
        // Later bytes do not change the failure.
        #expect(throws: expected) { try expectNoSession(try client.receive(vectors.serverBytes)) }
      }
    }
  }

  @Test("A client refuses a faulty server's responses")
  func faults() throws {
    let rows: [(Obfs4ServerFaults, Obfs4Failure?)] = [
      (.mac, .wrongMAC), (.hour, .wrongMAC), (.authentication, .wrongAuthentication),
      ([.authentication, .mac], .wrongMAC), (.mark, nil),
    ]
    for (faults, failure) in rows {
      var server = try vectors.server(faults: faults)
      var seen = Obfs4ReplayFilter()
      let answer = try #require(try response(of: &server, seen: &seen))
      var client = try vectors.client()
      if let failure {
        #expect(throws: failure) { try expectNoSession(try client.receive(answer)) }
      } else {
        // Without a mark, only the maximum length ends the handshake.
        try expectNoSession(try client.receive(answer))
        try expectNoSession(try client.receive([UInt8](repeating: 0, count: 8191 - answer.count)))
        #expect(throws: Obfs4Failure.noMark) { try expectNoSession(try client.receive([0])) }
      }
    }
  }

  @Test("A client accepts a response of 96 to 8192 bytes in pieces of any size", arguments: [0, 1, 8051, 8095, 8096])
  func paddings(count: Int) throws {
    let (response, client) = try response(padding: count)
    #expect(response.count == 96 + count)
    for size in [1, 7, 1448, 8192] {
      var client = client
      var sessions = 0
      for start in stride(from: 0, to: response.count, by: size) {
        let isLast = start + size >= response.count
        if let session = try client.receive(response[start..<min(start + size, response.count)]) {
          sessions += 1
          #expect(isLast && session.leftover.isEmpty)
        }
      }
      #expect(sessions == 1)
    }
  }

  @Test("A client refuses a response of 8193 bytes at byte 8192")
  func tooMuchPadding() throws {
    let (response, template) = try response(padding: 8097)
    var client = template
    try expectNoSession(try client.receive(response.prefix(8191)))
    #expect(throws: Obfs4Failure.noMark) { try expectNoSession(try client.receive(response[8191..<8192])) }
    var whole = template
    #expect(throws: Obfs4Failure.noMark) { try expectNoSession(try whole.receive(response)) }
  }

  @Test("The longest response has the bytes of the vectors")
  func longestResponse() throws {
    let padding = try Obfs4Vectors.repeatable("long padding", 8096)
    let random = RandomSource.scripted([padding])
    var server = Obfs4ServerHandshake(
      as: try vectors.serverIdentity, keyPair: vectors.serverKeyPair, hour: vectors.handshake.epoch_hour,
      paddingLength: 8096, random: random)
    var seen = Obfs4ReplayFilter()
    let response = try #require(try server.receive(vectors.handshake.client_hello.bytes, seen: &seen)?.response)
    #expect(response.suffix(16).elementsEqual(vectors.handshake.longest_response.mac.bytes))
    #expect(try Obfs4Primitives.sha256(response) == vectors.handshake.longest_response.sha256.bytes)
  }

  @Test("A response with any bit flipped yields no session")
  func changedBits() throws {
    let response = vectors.handshake.server_response.bytes
    let random = RandomSource.seeded(16)
    let bits = (0..<300).map { _ in Int(random.bytes(2).reduce(0) { $0 << 8 | UInt16($1) }) % (response.count * 8) }
    let template = try vectors.client()
    for bit in bits {
      var changed = response
      changed[bit / 8] ^= 1 << (bit % 8)
      var client = template
      do {
        try expectNoSession(try client.receive(changed))
      } catch let failure as Obfs4Failure {
        #expect(failure == .wrongMAC, "bit \(bit)")
      }
    }
  }

  @Test("If a mark occurs twice by chance the first one counts")
  func markTwice() throws {
    let response = vectors.handshake.server_response.bytes
    let mark = vectors.handshake.server_mark.bytes
    var changed = response
    changed.replaceSubrange(70..<86, with: mark)
    var client = try vectors.client()
    #expect(throws: Obfs4Failure.wrongMAC) { try expectNoSession(try client.receive(changed)) }
    // A mark before the 64th byte does not count. This response is signed at its end, and has a wrong AUTH.
    let identity = try vectors.identity
    var early = [UInt8](response.dropLast(16))
    early.replaceSubrange(40..<56, with: mark)
    let hour = [UInt8](String(vectors.handshake.epoch_hour).utf8)
    early += try Obfs4Primitives.hmac(key: identity.publicKey + identity.nodeID, early + hour).prefix(16)
    var other = try vectors.client()
    #expect(throws: Obfs4Failure.wrongAuthentication) { try expectNoSession(try other.receive(early)) }
  }

  @Test("Every event in every state of a client leads to the expected state")
  func clientWalk() throws {
    let template = try vectors.client()
    let response = vectors.handshake.server_response.bytes
    let markEnd = response.count - 16
    let states: [(name: String, given: [UInt8])] = [
      ("start", []), ("in the key", [UInt8](response[..<31])), ("before the search", [UInt8](response[..<95])),
      ("searching", [UInt8](response[..<97])), ("in the mark", [UInt8](response[..<(markEnd - 1)])),
      ("in the MAC", [UInt8](response[..<(markEnd + 3)])),
    ]
    for (name, given) in states {
      var client = template
      try expectNoSession(try client.receive(given))
      let rest = [UInt8](response[given.count...])
      try expectNoSession(try client.receive([UInt8]()))
      var waiting = client
      try expectNoSession(try waiting.receive(rest.prefix(1)))
      var done = client
      guard let session = try done.receive(rest + [1, 2]) else { throw Obfs4SessionTests.Missing() }
      #expect(session.leftover == [1, 2], "\(name)")
      try expectNoSession(try done.receive([3]))
      var wrong = client
      #expect(throws: Obfs4Failure.wrongMAC, "\(name)") {
        try expectNoSession(try wrong.receive(rest.dropLast() + [response[response.count - 1] ^ 1]))
      }
      for next in [[], rest, response] {
        #expect(throws: Obfs4Failure.wrongMAC, "\(name)") { try expectNoSession(try wrong.receive(next)) }
      }
      var full = client
      guard given.count < markEnd else { continue }
      #expect(throws: Obfs4Failure.noMark, "\(name)") {
        try expectNoSession(try full.receive([UInt8](repeating: 0, count: 8192 - given.count)))
      }
      #expect(throws: Obfs4Failure.noMark, "\(name)") { try expectNoSession(try full.receive(response)) }
    }
  }

  @Test("Random bytes end a handshake only with a failure, and yield no data")
  func randomBytes() throws {
    let random = RandomSource.seeded(8)
    let template = try vectors.client()
    for _ in 0..<20 {
      var client = template
      var server = try vectors.server()
      var seen = Obfs4ReplayFilter()
      var reader = try Obfs4FrameReader(keys: vectors.kdf.server_to_client.bytes[...], lengthOfNonsense: 99)
      var output: [UInt8] = []
      let failures = Failures()
      for _ in 0..<40 {
        let bytes = random.bytes(random.number(in: 0...600))
        failures.note { try expectNoSession(try client.receive(bytes)) }
        failures.note { try expectNoAnswer(try server.receive(bytes, seen: &seen)) }
        failures.note { try reader.receive(bytes, into: &output) }
      }
      #expect(failures.seen == [.noMark, .wrongFrame])
      #expect(output.isEmpty)
    }
  }

  private final class Failures {
    private(set) var seen: Set<Obfs4Failure> = []

    func note(_ body: () throws -> Void) {
      do { try body() } catch {
        if let failure = error as? Obfs4Failure { seen.insert(failure) } else { Issue.record(error) }
      }
    }
  }

  private func response(of server: inout Obfs4ServerHandshake, seen: inout Obfs4ReplayFilter) throws -> [UInt8]? {
    try server.receive(vectors.handshake.client_hello.bytes, seen: &seen)?.response
  }

  private func response(padding: Int) throws -> (bytes: [UInt8], client: Obfs4ClientHandshake) {
    let random = RandomSource.seeded(UInt64(padding))
    var server = Obfs4ServerHandshake(
      as: try vectors.serverIdentity, keyPair: vectors.serverKeyPair, hour: vectors.handshake.epoch_hour,
      paddingLength: padding, random: random)
    var seen = Obfs4ReplayFilter()
    return (try #require(try response(of: &server, seen: &seen)), try vectors.client())
  }
}

// An expectation cannot take a noncopyable value, so it checks only whether the answer is present.
func expectAnswer(_ answer: consuming Obfs4ServerAnswer?) throws {
  let isThere = answer != nil
  try #require(isThere)
}

func expectNoAnswer(_ answer: consuming Obfs4ServerAnswer?) throws {
  let isThere = answer != nil
  try #require(!isThere)
}

func expectNoSession(_ session: consuming Obfs4Session?) throws {
  let isThere = session != nil
  try #require(!isThere)
}
