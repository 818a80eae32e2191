// SPDX-License-Identifier: Apache-2.0

/// Salt and chunks of one direction, to what they carry.
package struct ShadowsocksReader: ~Copyable, Sendable {
  private enum State {
    case salt
    case length
    case payload(Int)
    case failed(ShadowsocksFailure)
  }

  private let key: ShadowsocksKey
  private let ownSalt: [UInt8]?
  private let operation: UInt128
  private var state = State.salt
  private var sealer: ShadowsocksSealer?
  private var gatherer = UnitGatherer()
  /// What this direction began with, once it is whole.
  package private(set) var salt: [UInt8]?
  /// Whether a chunk was opened: the other side has the key.
  package private(set) var hasOpened = false

  /// - Parameters:
  ///   - ownSalt: what the other direction begins with: a client refuses it here. A server has none yet.
  ///   - operation: the number of the first opening.
  package init(_ key: ShadowsocksKey, refusing ownSalt: [UInt8]? = nil, operation: UInt128 = 0) {
    self.key = key
    self.ownSalt = ownSalt
    self.operation = operation
  }

  /// Appends what the bytes carry to the output. What was whole before a bad chunk has been appended when it throws;
  /// from then on every call throws the same, and appends nothing.
  ///
  /// - Throws: ``ShadowsocksFailure/wrongKey``, ``ShadowsocksFailure/wrongFirstPayload``,
  ///   ``ShadowsocksFailure/wrongChunk``, ``ShadowsocksFailure/wrongLength``, ``ShadowsocksFailure/reflected``,
  ///   ``ShadowsocksFailure/counterExhausted``, ``ShadowsocksFailure/cryptoUnavailable``.
  package mutating func receive(
    _ bytes: some Collection<UInt8>, into output: inout [UInt8]
  ) throws(ShadowsocksFailure) {
    // Whether it is contiguous is known at once; if not, one copy makes it so.
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { take($0, &output) }
    if isDone == nil { [UInt8](bytes).withUnsafeBufferPointer { take($0, &output) } }
    if case .failed(let failure) = state { throw failure }
  }

  /// Whether an end now would cut the salt or a chunk.
  package var isWithin: Bool {
    switch state {
    case .salt, .length: !gatherer.isEmpty
    case .payload: true
    case .failed: false
    }
  }

  private mutating func take(_ bytes: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    var rest = bytes[...]
    while let wanted, let unit = gatherer.next(wanted, of: &rest) { unit.withBytes { use($0, &output) } }
  }

  /// How many bytes the salt, length or payload has; nil after a failure.
  private var wanted: Int? {
    switch state {
    case .salt: key.cipher.keyLength
    case .length: ShadowsocksChunk.headLength
    case .payload(let length): length + ShadowsocksSealer.tagLength
    case .failed: nil
    }
  }

  private mutating func use(_ unit: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    do throws(ShadowsocksFailure) {
      switch state {
      case .salt:
        try begin(with: [UInt8](unit))
        state = .length
      case .length: state = .payload(try length(unit))
      case .payload(let length):
        try open(unit, length, &output)
        state = .length
      case .failed: break
      }
    } catch {
      state = .failed(error)
    }
  }

  private mutating func begin(with salt: [UInt8]) throws(ShadowsocksFailure) {
    guard salt != ownSalt else { throw .reflected }
    self.salt = salt
    sealer = try ShadowsocksSealer(key, salt: salt, seals: false, operation: operation)
  }

  private mutating func length(_ unit: UnsafeBufferPointer<UInt8>) throws(ShadowsocksFailure) -> Int {
    var head: [UInt8] = []
    guard try appendOpened(unit, 2, to: &head) else { throw hasOpened ? .wrongChunk : .wrongKey }
    let length = Int(head[0]) << 8 | Int(head[1])
    guard (1...ShadowsocksChunk.maximumPayload).contains(length) else { throw .wrongLength }
    return length
  }

  private mutating func open(
    _ unit: UnsafeBufferPointer<UInt8>, _ length: Int, _ output: inout [UInt8]
  ) throws(ShadowsocksFailure) {
    guard try appendOpened(unit, length, to: &output) else { throw hasOpened ? .wrongChunk : .wrongFirstPayload }
    hasOpened = true
  }

  /// False, with nothing appended, for a wrong tag.
  private mutating func appendOpened(
    _ unit: UnsafeBufferPointer<UInt8>, _ length: Int, to output: inout [UInt8]
  ) throws(ShadowsocksFailure) -> Bool {
    let before = output.count
    output += repeatElement(0, count: length)
    let isRight: Bool
    do throws(ShadowsocksFailure) {
      isRight = try output.withUnsafeMutableBufferPointer { output throws(ShadowsocksFailure) in
        try sealer?.open(unit, into: UnsafeMutableBufferPointer(rebasing: output[before...])) ?? false
      }
    } catch {
      output.removeSubrange(before...)
      throw error
    }
    if !isRight { output.removeSubrange(before...) }
    return isRight
  }
}
