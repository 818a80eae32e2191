// SPDX-License-Identifier: Apache-2.0

/// The lengths of frames.
package enum Obfs4Frame {
  /// The length of the tag and the packet together.
  package static let boxLengths = 16...1446
  /// The length of the longest frame: the length field and the longest box.
  package static let maximumLength = 1448
  /// The length of the length field, the tag and the packet's head together.
  package static let overhead = 21
  /// The maximum length of one frame's payload and padding together.
  package static let maximumPayload = 1427
  package static let seedLength = 24

  static let tagLength = 16
  static let headLength = 3
}

/// A reader that decrypts the frames of one direction.
@usableFromInline
package struct Obfs4FrameReader: ~Copyable, Sendable {
  private enum State {
    case length
    /// A box is expected. If the received length was invalid, the box has a random length instead, and the reader waits
    /// for that many bytes before it fails.
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

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - keys: 72 bytes: key, nonce prefix, seed of masks.
  ///   - lengthOfNonsense: the number of bytes to wait for after an invalid length. It is drawn beforehand, so that the
  ///     time at which we close the connection reveals nothing.
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

  /// Decrypts received bytes and appends their payload to the output. Frames before an invalid one have been appended
  /// when it throws. After that, every call throws the same error and appends nothing.
  ///
  /// - Throws: ``Obfs4Failure/wrongFrame``, ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(_ bytes: some Collection<UInt8>, into output: inout [UInt8]) throws(Obfs4Failure) {
    // Contiguous bytes are used in place; others are copied once.
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { openFrames(in: $0, into: &output) }
    if isDone == nil { [UInt8](bytes).withUnsafeBufferPointer { openFrames(in: $0, into: &output) } }
    if case .failed(let failure) = state { throw failure }
  }

  /// Whether the stream would be truncated if it ended now.
  package var isWithinFrame: Bool {
    switch state {
    case .length: !gatherer.isEmpty
    case .box: true
    case .failed: false
    }
  }

  /// Returns the latest seed received since the last call: 24 bytes.
  package mutating func takeSeed() -> [UInt8]? {
    defer { seed = nil }
    return seed
  }

  private mutating func openFrames(in bytes: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) {
    var rest = bytes[...]
    while let wanted, let unit = gatherer.next(wanted, of: &rest) { unit.withBytes { use($0, &output) } }
  }

  /// The number of bytes of the next length field or box; nil after a failure.
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

  /// Appends the payload of a packet, or stores its seed. Returns false if the packet is shorter than the payload
  /// length that it states.
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
