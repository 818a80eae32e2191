// SPDX-License-Identifier: Apache-2.0

/// A reader that decrypts the salt and chunks of one direction.
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
  /// The salt of this direction, once it has been received.
  package private(set) var salt: [UInt8]?
  /// Whether a chunk has been decrypted, which proves that the peer has the key.
  package private(set) var hasOpened = false

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - ownSalt: the salt of the other direction, which a client must not receive back. A server has no salt yet.
  ///   - operation: the number of the first operation.
  package init(_ key: ShadowsocksKey, refusing ownSalt: [UInt8]? = nil, operation: UInt128 = 0) {
    self.key = key
    self.ownSalt = ownSalt
    self.operation = operation
  }

  /// Decrypts received bytes and appends their payload to the output. Chunks before an invalid one have been appended
  /// when it throws. After that, every call throws the same error and appends nothing.
  ///
  /// - Throws: ``ShadowsocksFailure/wrongKey``, ``ShadowsocksFailure/wrongFirstPayload``,
  ///   ``ShadowsocksFailure/wrongChunk``, ``ShadowsocksFailure/wrongLength``, ``ShadowsocksFailure/reflected``,
  ///   ``ShadowsocksFailure/counterExhausted``, ``ShadowsocksFailure/cryptoUnavailable``.
  package mutating func receive(
    _ bytes: some Collection<UInt8>, into output: inout [UInt8]
  ) throws(ShadowsocksFailure) {
    // Contiguous bytes are used in place; others are copied once.
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { openChunks(in: $0, into: &output) }
    if isDone == nil { [UInt8](bytes).withUnsafeBufferPointer { openChunks(in: $0, into: &output) } }
    if case .failed(let failure) = state { throw failure }
  }

  /// Whether the salt or a chunk would be truncated if the stream ended now.
  package var isWithin: Bool {
    switch state {
    case .salt, .length: !gatherer.isEmpty
    case .payload: true
    case .failed: false
    }
  }

  private mutating func openChunks(in bytes: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) {
    var rest = bytes[...]
    while let wanted, let unit = gatherer.next(wanted, of: &rest) { unit.withBytes { use($0, &output) } }
  }

  /// The number of bytes of the next salt, length or payload; nil after a failure.
  private var wanted: Int? {
    switch state {
    case .salt: key.method.keyLength
    case .length: ShadowsocksChunk.headLength
    case .payload(let length): length + ShadowsocksSealer.tagLength
    case .failed: nil
    }
  }

  private mutating func use(_ unit: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    do throws(ShadowsocksFailure) {
      switch state {
      case .salt:
        try acceptSalt([UInt8](unit))
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

  private mutating func acceptSalt(_ salt: [UInt8]) throws(ShadowsocksFailure) {
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

  /// Decrypts a unit and appends the result. Returns false, with nothing appended, if the tag is wrong.
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
