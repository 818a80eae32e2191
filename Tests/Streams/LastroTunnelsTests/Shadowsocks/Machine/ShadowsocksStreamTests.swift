// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTunnels
import TestSupport
import Testing

@Suite("Shadowsocks: keys, salts and chunks", .ownThread)
struct ShadowsocksStreamTests {
  private let vectors: ShadowsocksVectors

  init() throws { vectors = try ShadowsocksVectors.read() }

  private static func written(
    _ key: ShadowsocksKey, _ salt: [UInt8], _ pieces: [[UInt8]], operation: UInt128 = 0
  ) throws -> [UInt8] {
    var writer = try ShadowsocksWriter(key, salt: salt, operation: operation)
    var bytes: [UInt8] = []
    for piece in pieces { try writer.write(piece[...], into: &bytes) }
    return bytes
  }

  @Test("Passwords yield the vectors' keys")
  func keys() throws {
    for vector in vectors.bytes_to_key {
      #expect(Array(vector.password.utf8) == vector.password_utf8.bytes)
      for method in ShadowsocksServer.Method.allCases {
        let key = try ShadowsocksKey(password: vector.password_utf8.bytes, method: method)
        #expect(key.bytes == (method.keyLength == 16 ? vector.key16 : vector.key32).bytes)
      }
    }
  }

  @Test("Keys and salts yield the vectors' subkeys")
  func subkeys() throws {
    for vector in vectors.hkdf_sha1_ss_subkey {
      let method: ShadowsocksServer.Method = vector.key.bytes.count == 16 ? .aes128GCM : .chaCha20Poly1305
      let key = try #require(ShadowsocksKey(method: method, bytes: vector.key.bytes))
      #expect(try key.subkey(salt: vector.salt.bytes) == vector.subkey.bytes)
      #expect(ShadowsocksKey(method: method, bytes: vector.key.bytes + [0]) == nil)
    }
  }

  @Test("The number of an operation is its nonce in little endian")
  func nonces() {
    for vector in vectors.nonces {
      let bytes = ShadowsocksNonce.withBytes(of: vector.operation) { Array(UnsafeBufferPointer(start: $0, count: 12)) }
      #expect(bytes == vector.nonce.bytes)
    }
  }

  @Test("A client writes the vectors' streams, and a server reads them")
  func clientStreams() throws {
    for stream in vectors.streams {
      let key = try stream.shadowsocksKey
      #expect(key.bytes == stream.key.bytes)
      #expect(try key.subkey(salt: stream.salt.bytes) == stream.subkey.bytes)
      var writer = try ShadowsocksWriter(key, salt: stream.salt.bytes)
      var bytes: [UInt8] = [], carried: [UInt8] = []
      for chunk in stream.chunks {
        let start = bytes.isEmpty ? stream.salt.bytes.count : bytes.count
        let payload = try chunk.bytes
        #expect(payload.count == chunk.payload_length)
        try writer.write(payload[...], into: &bytes)
        carried += payload
        let written = Array(bytes[start...])
        #expect(written.starts(with: chunk.sealed_length.bytes))
        if let sealed = chunk.sealed_payload { #expect(written == chunk.sealed_length.bytes + sealed.bytes) }
        #expect(try Obfs4Primitives.sha256(written) == chunk.chunk_sha256.bytes)
        #expect(
          try Self.written(key, stream.salt.bytes, [payload], operation: UInt128(chunk.first_nonce)).dropFirst(
            stream.salt.bytes.count) == written[...])
      }
      var last = 0
      for byte in 0...UInt8(129) {
        last = bytes.count
        try writer.write([byte], into: &bytes)
        carried.append(byte)
      }
      #expect(Array(bytes[last...]) == stream.last_of_these.bytes)
      #expect(2 * (stream.chunks.count + 130) == stream.operations)
      #expect(bytes.count == stream.client_stream_length)
      #expect(try Obfs4Primitives.sha256(bytes) == stream.client_stream_sha256.bytes)
      var reader = ShadowsocksReader(key)
      var output: [UInt8] = []
      try reader.receive(bytes, into: &output)
      #expect(output == carried)
      let salt = reader.salt
      #expect(salt == stream.salt.bytes)
    }
  }

  @Test("An address in its own chunk yields the vectors' bytes")
  func addressAlone() throws {
    for stream in vectors.streams {
      let first = try stream.chunks[0].bytes, address = first.count - 5
      let bytes = try Self.written(
        stream.shadowsocksKey, stream.salt.bytes, [Array(first[..<address]), Array(first[address...])])
      #expect(bytes == stream.address_in_a_chunk_of_its_own.bytes)
    }
  }

  @Test("The vectors' server streams are read whole, split into two or three at any byte, and byte by byte")
  func serverStreams() throws {
    for stream in vectors.streams {
      let key = try stream.shadowsocksKey, bytes = stream.server_stream.bytes
      for first in 0...bytes.count {
        for second in Set([first, min(first + 1, bytes.count), min(first + 18, bytes.count), bytes.count]) {
          var reader = ShadowsocksReader(key, refusing: stream.salt.bytes)
          var output: [UInt8] = []
          for piece in [bytes[..<first], bytes[first..<second], bytes[second...]] {
            try reader.receive(piece, into: &output)
          }
          #expect(output == Array(stream.server_says.utf8))
          let isWithin = reader.isWithin, hasOpened = reader.hasOpened, salt = reader.salt
          #expect(!isWithin && hasOpened && salt == stream.server_salt.bytes)
        }
      }
      var reader = ShadowsocksReader(key)
      var output: [UInt8] = []
      for byte in bytes { try reader.receive(CollectionOfOne(byte), into: &output) }
      #expect(output == Array(stream.server_says.utf8))
    }
  }

  @Test("The vectors' invalid server streams are refused in any split, and yield only the bytes before the fault")
  func refusedStreams() throws {
    for stream in vectors.streams {
      let key = try stream.shadowsocksKey
      for row in stream.server_streams_to_refuse {
        let expected: ShadowsocksFailure = row.why == "tag of the length" ? .wrongKey : .wrongLength
        for cut in 0...row.bytes.bytes.count {
          var reader = ShadowsocksReader(key)
          var output: [UInt8] = []
          #expect(throws: expected, "\(row.why), cut at \(cut)") {
            try reader.receive(row.bytes.bytes[..<cut], into: &output)
            try reader.receive(row.bytes.bytes[cut...], into: &output)
          }
          #expect(throws: expected) { try reader.receive(stream.server_stream.bytes, into: &output) }
          #expect(output.isEmpty)
        }
      }
      for row in stream.server_streams_cut {
        var reader = ShadowsocksReader(key)
        var output: [UInt8] = []
        try reader.receive(row.bytes.bytes, into: &output)
        let isWithin = reader.isWithin
        #expect(isWithin, "\(row.why)")
        #expect(Array(stream.server_says.utf8).starts(with: output))
      }
    }
  }

  @Test("Our own salt is refused")
  func reflection() throws {
    for stream in vectors.streams {
      var reader = try ShadowsocksReader(stream.shadowsocksKey, refusing: stream.server_salt.bytes)
      var output: [UInt8] = []
      #expect(throws: ShadowsocksFailure.reflected) { try reader.receive(stream.server_stream.bytes, into: &output) }
      #expect(output.isEmpty)
    }
  }

  @Test("Input in separate buffers is read as well, and empty data has no chunk")
  func otherCollections() throws {
    let stream = try #require(vectors.streams.first)
    var reader = try ShadowsocksReader(stream.shadowsocksKey)
    var output: [UInt8] = []
    try reader.receive([UInt8](stream.server_stream.bytes.reversed()).reversed() as ReversedCollection, into: &output)
    try reader.receive(EmptyCollection(), into: &output)
    #expect(output == Array(stream.server_says.utf8))
    #expect(try Self.written(stream.shadowsocksKey, stream.salt.bytes, [[], []]).isEmpty)
  }

  @Test("Chunks have at most 16,383 bytes", arguments: [1, 16_383, 16_384, 32_766, 32_767, 100_000])
  func chunkLengths(count: Int) throws {
    for stream in vectors.streams {
      let key = try stream.shadowsocksKey
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
      let bytes = try Self.written(key, stream.salt.bytes, [payload])
      let chunks = (count + 16_382) / 16_383
      #expect(bytes.count == key.method.keyLength + count + 34 * chunks)
      var reader = ShadowsocksReader(key)
      var output: [UInt8] = []
      try reader.receive(bytes, into: &output)
      #expect(output == payload)
    }
  }

  @Test("A key is used for fewer than 2^64 operations")
  func counters() throws {
    let stream = try #require(vectors.streams.first), key = try stream.shadowsocksKey
    let last = UInt128(UInt64.max) - 2
    let whole = try Self.written(key, stream.salt.bytes, [[7]], operation: last)
    var writer = try ShadowsocksWriter(key, salt: stream.salt.bytes, operation: last)
    var bytes: [UInt8] = []
    #expect(throws: ShadowsocksFailure.counterExhausted) {
      try writer.write([UInt8](repeating: 1, count: 20_000)[...], into: &bytes)
    }
    #expect(bytes.isEmpty)
    #expect(throws: ShadowsocksFailure.counterExhausted) { try writer.write([1], into: &bytes) }
    #expect(bytes.isEmpty)
    var reader = ShadowsocksReader(key, operation: last)
    var output: [UInt8] = []
    try reader.receive(whole, into: &output)
    #expect(throws: ShadowsocksFailure.counterExhausted) {
      try reader.receive([UInt8](repeating: 0, count: 18), into: &output)
    }
    #expect(output == [7])
  }

  @Test(
    "A stream with any bit flipped is refused and never yields a wrong byte",
    arguments: ShadowsocksServer.Method.allCases)
  func changedBits(method: ShadowsocksServer.Method) throws {
    let key = try ShadowsocksKey(password: [1, 2, 3], method: method)
    let salt = (0..<method.keyLength).map { UInt8($0 + 1) }
    let expected: [UInt8] = [9, 8, 7] + [UInt8](repeating: 5, count: 40) + [1]
    let bytes = try Self.written(key, salt, [[9, 8, 7], [UInt8](repeating: 5, count: 40), [1]])
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      var reader = ShadowsocksReader(key)
      var output: [UInt8] = []
      #expect(throws: ShadowsocksFailure.self, "bit \(bit)") { try reader.receive(changed, into: &output) }
      #expect(expected.starts(with: output), "bit \(bit)")
    }
  }

  @Test("Random bytes are refused and yield no byte")
  func randomBytes() throws {
    for method in ShadowsocksServer.Method.allCases {
      let key = try ShadowsocksKey(password: [1], method: method)
      for seed in 0..<UInt64(200) {
        let random = RandomSource.seeded(seed)
        var reader = ShadowsocksReader(key)
        var output: [UInt8] = []
        #expect(throws: ShadowsocksFailure.wrongKey) {
          try reader.receive(random.bytes(method.keyLength + 18 + Int(seed)), into: &output)
        }
        #expect(output.isEmpty)
      }
    }
  }

  // MARK: state × event

  /// The part of the input that was read before the event. The input is a salt and two chunks of one byte each.
  fileprivate enum ReaderState: CaseIterable {
    case start, withinSalt, behindSalt, withinLength, behindLength, withinPayload, behindChunk, withinNextLength, failed
  }

  fileprivate enum ReaderEvent: CaseIterable {
    case nothing, oneByte, rest, changedByte
  }

  fileprivate struct ReaderAnswer: Equatable {
    var output: [UInt8] = []
    var isWithin = false
    var hasOpened = false
    var failure: ShadowsocksFailure?
  }

  @Test("Every event in every state leads to the expected state", arguments: ShadowsocksServer.Method.allCases)
  func stateWalk(method: ShadowsocksServer.Method) throws {
    let key = try ShadowsocksKey(password: [1], method: method)
    let n = method.keyLength
    let bytes = try Self.written(key, (0..<n).map { UInt8($0) }, [[7], [8]])
    for state in ReaderState.allCases {
      for event in ReaderEvent.allCases {
        let found = try walk(key, bytes, state, event)
        #expect(found == event.expectation(from: state), "\(event) in \(state)")
      }
    }
  }

  private func walk(
    _ key: ShadowsocksKey, _ bytes: [UInt8], _ state: ReaderState, _ event: ReaderEvent
  ) throws -> ReaderAnswer {
    let n = key.method.keyLength
    var reader = ShadowsocksReader(key)
    var answer = ReaderAnswer()
    let given = state.given(n)
    try reader.receive(bytes[..<given], into: &answer.output)
    if state == .failed {
      var wrong = bytes
      wrong[n] ^= 1
      #expect(throws: ShadowsocksFailure.wrongKey) { try reader.receive(wrong, into: &answer.output) }
    }
    do throws(ShadowsocksFailure) {
      switch event {
      case .nothing: try reader.receive([UInt8](), into: &answer.output)
      case .oneByte: try reader.receive(bytes[given..<given + 1], into: &answer.output)
      case .rest: try reader.receive(bytes[given...], into: &answer.output)
      case .changedByte:
        var rest = Array(bytes[given...])
        rest[0] ^= 1
        try reader.receive(rest, into: &answer.output)
      }
    } catch {
      answer.failure = error
    }
    answer.isWithin = reader.isWithin
    answer.hasOpened = reader.hasOpened
    return answer
  }
}

extension ShadowsocksStreamTests.ReaderState {
  /// Returns the number of bytes received, for a salt of `n` bytes.
  fileprivate func given(_ n: Int) -> Int {
    switch self {
    case .start, .failed: 0
    case .withinSalt: 1
    case .behindSalt: n
    case .withinLength: n + 1
    case .behindLength: n + 18
    case .withinPayload: n + 19
    case .behindChunk: n + 35
    case .withinNextLength: n + 36
    }
  }

  fileprivate var hasChunk: Bool { self == .behindChunk || self == .withinNextLength }
}

extension ShadowsocksStreamTests.ReaderEvent {
  fileprivate func expectation(
    from state: ShadowsocksStreamTests.ReaderState
  ) -> ShadowsocksStreamTests.ReaderAnswer {
    if state == .failed { return .init(failure: .wrongKey) }
    let before: [UInt8] = state.hasChunk ? [7] : []
    switch self {
    case .nothing:
      return .init(
        output: before, isWithin: ![.start, .behindSalt, .behindChunk].contains(state), hasOpened: state.hasChunk)
    case .oneByte: return .init(output: before, isWithin: true, hasOpened: state.hasChunk)
    case .rest: return .init(output: [7, 8], hasOpened: true)
    case .changedByte:
      let failure: ShadowsocksFailure =
        switch state {
        case .behindLength, .withinPayload: .wrongFirstPayload
        case .behindChunk, .withinNextLength: .wrongChunk
        default: .wrongKey
        }
      return .init(output: before, hasOpened: state.hasChunk, failure: failure)
    }
  }
}
