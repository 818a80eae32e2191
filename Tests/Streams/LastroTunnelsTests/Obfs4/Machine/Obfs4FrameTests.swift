// SPDX-License-Identifier: Apache-2.0

import LastroTunnels
import TestSupport
import Testing

@Suite("obfs4: frames", .ownThread)
struct Obfs4FrameTests {
  let vectors: Obfs4Vectors

  init() throws { vectors = try Obfs4Vectors.read() }

  private func clientReader(lengthOfNonsense: Int = 100, counter: UInt64 = 1) throws -> Obfs4FrameReader {
    try Obfs4FrameReader(
      keys: vectors.kdf.server_to_client.bytes[...], lengthOfNonsense: lengthOfNonsense, counter: counter)
  }

  private func serverWriter(counter: UInt64 = 1) throws -> Obfs4FrameWriter {
    try Obfs4FrameWriter(keys: vectors.kdf.server_to_client.bytes[...], counter: counter)
  }

  @Test("Both sides write the vectors' frames")
  func writing() throws {
    for (keys, frames) in [
      (vectors.kdf.client_to_server, vectors.frames.client_to_server),
      (vectors.kdf.server_to_client, vectors.frames.server_to_client),
    ] {
      var writer = try Obfs4FrameWriter(keys: keys.bytes[...])
      for frame in frames {
        var bytes: [UInt8] = [1, 2, 3]
        try writer.write(type: frame.type, payload: frame.payload.bytes[...], padding: frame.padding, into: &bytes)
        #expect(bytes == [1, 2, 3] + frame.frame.bytes)
        #expect(bytes.count == 3 + 2 + frame.box_length)
      }
    }
  }

  @Test("A payload, a seed and a packet are written as their frames")
  func kinds() throws {
    let frames = vectors.frames.server_to_client
    var writer = try serverWriter()
    var bytes: [UInt8] = []
    try writer.write(seed: frames[0].payload.bytes, into: &bytes)
    try writer.write(payload: frames[1].payload.bytes[...], padding: 0, into: &bytes)
    try writer.write(payload: [], padding: 100, into: &bytes)
    try writer.write(packet: [1, 0, 24] + frames[3].payload.bytes + [0, 0, 0, 0, 0], into: &bytes)
    #expect(bytes == frames[..<4].flatMap(\.frame.bytes))
  }

  @Test("No frame exceeds 1427 bytes, and padding is reduced first")
  func longestFrame() throws {
    let rows = [(1427, 0, 1448), (1427, 9, 1448), (1428, 0, 1448), (1, 9999, 1448), (0, -1, 21)]
    for (payload, padding, length) in rows {
      var writer = try serverWriter()
      var bytes: [UInt8] = []
      try writer.write(payload: [UInt8](repeating: 7, count: payload)[...], padding: padding, into: &bytes)
      #expect(bytes.count == length)
      var reader = try clientReader()
      var output: [UInt8] = []
      try reader.receive(bytes, into: &output)
      #expect(output == [UInt8](repeating: 7, count: min(payload, 1427)))
    }
  }

  @Test("Input in separate buffers is read as well")
  func otherCollections() throws {
    var reader = try clientReader()
    var output: [UInt8] = []
    try reader.receive(vectors.frames.server_to_client.lazy.flatMap(\.frame.bytes).map { $0 }, into: &output)
    try reader.receive(EmptyCollection(), into: &output)
    #expect(output == Array("world!".utf8))
    let reversed = [UInt8](vectors.frames.server_to_client[0].frame.bytes.reversed())
    var other = try clientReader()
    try other.receive(reversed.reversed() as ReversedCollection, into: &output)
    let seed = other.takeSeed()
    #expect(seed == vectors.frames.server_to_client[0].payload.bytes)
  }

  @Test("The vectors' invalid frames are refused in any split, after the complete data before them")
  func framesToRefuse() throws {
    let seed = vectors.frames.server_to_client[0].frame.bytes
    let hello = vectors.frames.server_to_client[1]
    for row in vectors.frames.server_frames_to_refuse.cases {
      let isNonsense = row.why.hasPrefix("length ")
      let bytes = seed + row.bytes.bytes
      for cut in Set([0, 1, seed.count, seed.count + 1, seed.count + 2, seed.count + 3, bytes.count - 1]) {
        var reader = try clientReader(lengthOfNonsense: 300)
        var output: [UInt8] = [9]
        #expect(throws: Obfs4Failure.wrongFrame, "\(row.why), cut at \(cut)") {
          try reader.receive(bytes[..<cut], into: &output)
          try reader.receive(bytes[cut...], into: &output)
          // If a frame is in the wrong place, the reader waits for the length that its bytes happen to encode.
          try reader.receive([UInt8](repeating: 0, count: 1446), into: &output)
        }
        #expect(output == [9], "\(row.why)")
        let wasSeen = reader.takeSeed() != nil
        #expect(wasSeen)
        #expect(throws: Obfs4Failure.wrongFrame) { try reader.receive(hello.frame.bytes, into: &output) }
        #expect(throws: Obfs4Failure.wrongFrame) { try reader.receive([UInt8](), into: &output) }
        #expect(output == [9])
      }
      if isNonsense { try expectWait(of: 300, seed, row.bytes.bytes, row.why) }
    }
  }

  private func expectWait(of length: Int, _ seed: [UInt8], _ bytes: [UInt8], _ why: String) throws {
    var reader = try clientReader(lengthOfNonsense: length)
    var output: [UInt8] = []
    try reader.receive(seed + bytes[..<(2 + length - 1)], into: &output)
    let isWithinFrame = reader.isWithinFrame
    #expect(isWithinFrame, "\(why)")
    #expect(throws: Obfs4Failure.wrongFrame, "\(why)") {
      try reader.receive(bytes[(2 + length - 1)..<(2 + length)], into: &output)
    }
  }

  @Test("Complete data before an invalid frame in the same buffer is delivered")
  func wholeBeforeWrong() throws {
    var writer = try serverWriter()
    var bytes: [UInt8] = []
    try writer.write(payload: [1, 2, 3], padding: 4, into: &bytes)
    try writer.write(payload: [4], padding: 0, into: &bytes)
    try writer.write(packet: [0, 0], into: &bytes)
    try writer.write(payload: [5], padding: 0, into: &bytes)
    for cut in 0...bytes.count {
      var reader = try clientReader()
      var output: [UInt8] = []
      #expect(throws: Obfs4Failure.wrongFrame) {
        try reader.receive(bytes[..<cut], into: &output)
        try reader.receive(bytes[cut...], into: &output)
      }
      #expect(output == [1, 2, 3, 4], "cut at \(cut)")
    }
  }

  @Test("The vectors' unusual frames are skipped")
  func framesToIgnore() throws {
    let seed = vectors.frames.server_to_client[0]
    for row in vectors.frames.server_frames_to_ignore.cases {
      var reader = try clientReader()
      var output: [UInt8] = []
      try reader.receive(seed.frame.bytes + row.bytes.bytes, into: &output)
      // The payload of these frames comes before the x of the last frame.
      #expect(output.last == UInt8(ascii: "x"), "\(row.why)")
      let taken = reader.takeSeed()
      #expect(taken == seed.payload.bytes, "\(row.why)")
      let isWithinFrame = reader.isWithinFrame
      #expect(!isWithinFrame)
    }
  }

  @Test("The newest seed is used once")
  func seeds() throws {
    var writer = try serverWriter()
    var reader = try clientReader()
    var output: [UInt8] = []
    let seeds = [[UInt8](repeating: 1, count: 24), [UInt8](repeating: 2, count: 24)]
    var taken = reader.takeSeed()
    #expect(taken == nil)
    for seed in seeds {
      var bytes: [UInt8] = []
      try writer.write(seed: seed, into: &bytes)
      try reader.receive(bytes, into: &output)
    }
    taken = reader.takeSeed()
    #expect(taken == seeds[1])
    taken = reader.takeSeed()
    #expect(taken == nil)
    #expect(output.isEmpty)
  }

  @Test("The 2^64th frame is neither written nor read")
  func counters() throws {
    var writer = try serverWriter(counter: .max)
    var reader = try clientReader(counter: .max)
    var bytes: [UInt8] = []
    var output: [UInt8] = []
    try writer.write(payload: [1], padding: 0, into: &bytes)
    let whole = bytes
    for _ in 0..<2 {
      #expect(throws: Obfs4Failure.counterExhausted) { try writer.write(payload: [2], padding: 0, into: &bytes) }
      #expect(throws: Obfs4Failure.counterExhausted) { try writer.write(seed: [], into: &bytes) }
      #expect(throws: Obfs4Failure.counterExhausted) { try writer.write(packet: [], into: &bytes) }
      #expect(throws: Obfs4Failure.counterExhausted) { try writer.write(length: 16, box: [], into: &bytes) }
    }
    #expect(bytes == whole)
    try reader.receive(bytes + [0], into: &output)
    #expect(throws: Obfs4Failure.counterExhausted) { try reader.receive([0], into: &output) }
    #expect(output == [1])
  }

  @Test("Keys of another length are refused", arguments: [0, 32, 47])
  func keyLengths(count: Int) {
    let keys = [UInt8](repeating: 1, count: count)
    #expect(throws: Obfs4Failure.cryptoUnavailable) {
      _ = try Obfs4FrameReader(keys: keys[...], lengthOfNonsense: 16).isWithinFrame
    }
    #expect(throws: Obfs4Failure.cryptoUnavailable) { try Obfs4FrameTests.makeWriter(keys) }
  }

  private static func makeWriter(_ keys: [UInt8]) throws { _ = try Obfs4FrameWriter(keys: keys[...]) }

  @Test("A stream with any bit flipped never yields a wrong byte")
  func changedBits() throws {
    var writer = try serverWriter()
    var bytes: [UInt8] = []
    var expected: [UInt8] = []
    for (payload, padding) in [(3, 0), (0, 20), (200, 5), (1, 0)] {
      let piece = (0..<payload).map { UInt8(truncatingIfNeeded: expected.count + $0 + 1) }
      try writer.write(payload: piece[...], padding: padding, into: &bytes)
      expected += piece
    }
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      var reader = try clientReader()
      var output: [UInt8] = []
      var isRefused = false
      do { try reader.receive(changed, into: &output) } catch { isRefused = true }
      // If a bit of a length changed, the reader may wait for more bytes.
      let waits = reader.isWithinFrame
      #expect(isRefused || waits, "bit \(bit)")
      #expect(expected.starts(with: output), "bit \(bit)")
    }
  }

  @Test("Every event in every state leads to the expected state")
  func stateWalk() throws {
    for state in ReaderState.allCases {
      for event in ReaderEvent.allCases {
        let found = try walk(state, event)
        #expect(found == event.expectation(from: state), "\(event) in \(state)")
      }
    }
  }

  /// The part of the input that was read before the event. The input is two frames of one byte each, or an invalid
  /// length.
  fileprivate enum ReaderState: CaseIterable {
    case start, withinLength, behindLength, withinBox, nonsense, failed
  }

  fileprivate enum ReaderEvent: CaseIterable {
    case nothing, oneByte, restOfFrame, restAndWhole, changedRest
  }

  fileprivate struct ReaderAnswer: Equatable {
    var output = 0
    var isWithinFrame = false
    var failure: Obfs4Failure?
  }

  private func walk(_ state: ReaderState, _ event: ReaderEvent) throws -> ReaderAnswer {
    var writer = try serverWriter()
    var frame: [UInt8] = []
    if state == .nonsense {
      try writer.write(length: 2000, box: [UInt8](repeating: 0, count: 40), into: &frame)
    } else {
      try writer.write(payload: [7], padding: 0, into: &frame)
    }
    var next: [UInt8] = []
    try writer.write(payload: [8], padding: 0, into: &next)
    var reader = try clientReader(lengthOfNonsense: 40)
    var output: [UInt8] = []
    let given = [.start: 0, .withinLength: 1, .behindLength: 2, .withinBox: 9, .nonsense: 2, .failed: 0][state] ?? 0
    try reader.receive(frame[..<given], into: &output)
    if state == .failed {
      #expect(throws: Obfs4Failure.wrongFrame) {
        try reader.receive(frame.dropLast() + [frame[frame.count - 1] ^ 1], into: &output)
      }
    }
    let rest = frame[given...]
    var answer = ReaderAnswer()
    do throws(Obfs4Failure) {
      switch event {
      case .nothing: try reader.receive([UInt8](), into: &output)
      case .oneByte: try reader.receive(rest.prefix(1), into: &output)
      case .restOfFrame: try reader.receive(rest, into: &output)
      case .restAndWhole: try reader.receive(rest + next, into: &output)
      case .changedRest: try reader.receive(rest.dropLast() + [frame[frame.count - 1] ^ 1], into: &output)
      }
    } catch {
      answer.failure = error
    }
    answer.output = output.count
    answer.isWithinFrame = reader.isWithinFrame
    return answer
  }
}

extension Obfs4FrameTests.ReaderEvent {
  fileprivate func expectation(from state: Obfs4FrameTests.ReaderState) -> Obfs4FrameTests.ReaderAnswer {
    if state == .failed { return .init(failure: .wrongFrame) }
    switch self {
    case .nothing: return .init(isWithinFrame: state != .start)
    case .oneByte: return .init(isWithinFrame: true)
    case .restOfFrame, .restAndWhole:
      if state == .nonsense { return .init(failure: .wrongFrame) }
      return .init(output: self == .restOfFrame ? 1 : 2)
    case .changedRest: return .init(failure: .wrongFrame)
    }
  }
}
