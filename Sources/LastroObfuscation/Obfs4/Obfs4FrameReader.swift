// SPDX-License-Identifier: Apache-2.0

/// Lengths of frames.
package enum Obfs4Frame {
  /// The tag and the packet.
  package static let boxLengths = 16...1446
  /// The length and the longest box.
  package static let maximumLength = 1448
  /// The length, the tag and a packet's head.
  package static let overhead = 21
  /// Payload and padding of one frame together.
  package static let maximumPayload = 1427
  package static let seedLength = 24

  static let tagLength = 16
  static let headLength = 3
}

/// Frames of one direction to what they carry.
@usableFromInline
package struct Obfs4FrameReader: ~Copyable, Sendable {
  private enum State {
    case length
    /// Of a box; nonsense where the length cannot be, and is then waited for as if it could.
    case box(Int, isNonsense: Bool)
    case failed(Obfs4Failure)
  }

  private var state = State.length
  private var secretbox: Obfs4Secretbox
  private var masks: Obfs4NumberStream
  private var counter: UInt64
  private let lengthOfNonsense: Int
  private var gatherer = UnitGatherer()
  private var packet = [UInt8](repeating: 0, count: Obfs4Frame.boxLengths.upperBound - Obfs4Frame.tagLength)
  private var seed: [UInt8]?

  /// - Parameters:
  ///   - keys: 72 bytes: key, nonce prefix, seed of masks.
  ///   - lengthOfNonsense: What is waited for where a length cannot be, drawn beforehand: when we close tells nothing.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(keys: ArraySlice<UInt8>, lengthOfNonsense: Int, counter: UInt64 = 1) throws(Obfs4Failure) {
    guard let box = Obfs4Secretbox(key: keys.prefix(32), noncePrefix: keys.dropFirst(32).prefix(16)) else {
      throw .cryptoUnavailable
    }
    secretbox = box
    masks = Obfs4NumberStream(seed: keys.dropFirst(48))
    self.lengthOfNonsense = max(1, lengthOfNonsense)
    self.counter = counter
  }

  /// Appends what the bytes carry to the output. What was whole before a bad frame has been appended when it throws;
  /// from then on every call throws the same, and appends nothing.
  ///
  /// - Throws: ``Obfs4Failure/wrongFrame``, ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(_ bytes: some Collection<UInt8>, into output: inout [UInt8]) throws(Obfs4Failure) {
    // Whether it is contiguous is known at once; if not, one copy makes it so.
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { take($0, &output) }
    if isDone == nil { [UInt8](bytes).withUnsafeBufferPointer { take($0, &output) } }
    if case .failed(let failure) = state { throw failure }
  }

  /// Whether an end now would cut a frame.
  package var isWithinFrame: Bool {
    switch state {
    case .length: !gatherer.isEmpty
    case .box: true
    case .failed: false
    }
  }

  /// The newest seed that came since the last call: 24 bytes.
  package mutating func takeSeed() -> [UInt8]? {
    defer { seed = nil }
    return seed
  }

  private mutating func take(_ bytes: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    var rest = bytes[...]
    while let wanted, let unit = gatherer.next(wanted, of: &rest) { unit.withBytes { use($0, &output) } }
  }

  /// How many bytes the length or box has; nil after a failure.
  private var wanted: Int? {
    switch state {
    case .length: 2
    case .box(let length, _): length
    case .failed: nil
    }
  }

  private mutating func use(_ unit: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    switch state {
    case .length:
      guard counter != 0 else { return state = .failed(.counterExhausted) }
      let length = Int((UInt16(unit[0]) << 8 | UInt16(unit[1])) ^ masks.mask())
      let isPossible = Obfs4Frame.boxLengths.contains(length)
      state = .box(isPossible ? length : lengthOfNonsense, isNonsense: !isPossible)
    case .box(_, isNonsense: true): state = .failed(.wrongFrame)
    case .box(let length, isNonsense: false):
      let opening = packet.withUnsafeMutableBufferPointer { secretbox.open(counter, unit, into: $0) }
      counter &+= 1
      switch opening {
      case .opened: state = deliver(length - Obfs4Frame.tagLength, &output) ? .length : .failed(.wrongFrame)
      case .forged: state = .failed(.wrongFrame)
      case .failed: state = .failed(.cryptoUnavailable)
      }
    case .failed: break
    }
  }

  /// False where the packet is too short for what it says of itself.
  private mutating func deliver(_ length: Int, _ output: inout [UInt8]) -> Bool {
    guard length >= Obfs4Frame.headLength else { return false }
    let payload = Int(packet[1]) << 8 | Int(packet[2])
    guard payload <= length - Obfs4Frame.headLength else { return false }
    let content = packet[Obfs4Frame.headLength..<Obfs4Frame.headLength + payload]
    switch packet[0] {
    case 0: output += content
    case 1 where payload == Obfs4Frame.seedLength: seed = [UInt8](content)
    default: break
    }
    return true
  }
}
