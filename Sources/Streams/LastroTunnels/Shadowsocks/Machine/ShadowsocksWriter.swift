// SPDX-License-Identifier: Apache-2.0

/// The lengths of chunks.
package enum ShadowsocksChunk {
  /// The maximum length of a payload.
  package static let maximumPayload = 0x3FFF
  /// The length of the sealed length field.
  package static let headLength = 2 + ShadowsocksSealer.tagLength
  /// The bytes that a chunk has in addition to its payload.
  package static let overhead = headLength + ShadowsocksSealer.tagLength
}

/// A writer that encrypts the salt and chunks of one direction.
///
/// A client's first bytes are the address of its target.
package struct ShadowsocksWriter: ~Copyable, Sendable {
  private var sealer: ShadowsocksSealer
  /// The salt, which precedes the first chunk; nil once it has been written.
  private var salt: [UInt8]?
  private var failure: ShadowsocksFailure?

  /// Creates a writer.
  ///
  /// - Parameters:
  ///   - salt: as long as a key, and never used before with this key.
  ///   - operation: the number of the first operation.
  /// - Throws: ``ShadowsocksFailure/cryptoUnavailable``.
  package init(_ key: ShadowsocksKey, salt: [UInt8], operation: UInt128 = 0) throws(ShadowsocksFailure) {
    sealer = try ShadowsocksSealer(key, salt: salt, seals: true, operation: operation)
    self.salt = salt
  }

  /// Appends the bytes in as few chunks as possible, with the salt before the first one. No chunk is written for empty
  /// input.
  ///
  /// - Throws: ``ShadowsocksFailure/counterExhausted``, ``ShadowsocksFailure/cryptoUnavailable``. Nothing has been
  ///   appended then, and every later call throws the same error.
  package mutating func write(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) throws(ShadowsocksFailure) {
    let before = output.count
    let chunks = (bytes.count + ShadowsocksChunk.maximumPayload - 1) / ShadowsocksChunk.maximumPayload
    output.reserveCapacity(before + (salt?.count ?? 0) + bytes.count + chunks * ShadowsocksChunk.overhead)
    do throws(ShadowsocksFailure) {
      var rest = bytes
      while !rest.isEmpty {
        let payload = rest.prefix(ShadowsocksChunk.maximumPayload)
        rest = rest.dropFirst(payload.count)
        try write(length: payload.count, payload: payload, into: &output)
      }
    } catch {
      output.removeSubrange(before...)
      throw error
    }
  }

  /// Appends a chunk with any length field, valid or not, for servers that test their client.
  package mutating func write(
    length: Int, payload: ArraySlice<UInt8>, into output: inout [UInt8]
  ) throws(ShadowsocksFailure) {
    if let failure { throw failure }
    do throws(ShadowsocksFailure) {
      guard sealer.canSealChunk else { throw .counterExhausted }
      appendSalt(to: &output)
      try seal([UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)], into: &output)
      try seal(payload, into: &output)
    } catch {
      failure = error
      throw error
    }
  }

  /// Appends the salt unless it has been written.
  package mutating func appendSalt(to output: inout [UInt8]) {
    output += salt ?? []
    salt = nil
  }

  private mutating func seal(_ message: ArraySlice<UInt8>, into output: inout [UInt8]) throws(ShadowsocksFailure) {
    let before = output.count
    output += message
    output += repeatElement(0, count: ShadowsocksSealer.tagLength)
    try output.withUnsafeMutableBufferPointer { output throws(ShadowsocksFailure) in
      try sealer.seal(UnsafeMutableBufferPointer(rebasing: output[before...]))
    }
  }
}
