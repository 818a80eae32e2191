// SPDX-License-Identifier: Apache-2.0

/// A writer that encrypts the frames of one direction.
@usableFromInline
package struct Obfs4FrameWriter: ~Copyable, Sendable {
  private var secretbox: Obfs4Secretbox
  private var masks: Obfs4NumberStream
  private var counter: UInt64
  private var failure: Obfs4Failure?

  /// Creates a writer.
  ///
  /// - Parameter keys: 72 bytes: key, nonce prefix, seed of masks.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(keys: ArraySlice<UInt8>, counter: UInt64 = 1) throws(Obfs4Failure) {
    guard let box = Obfs4Secretbox(key: keys.prefix(32), noncePrefix: keys.dropFirst(32).prefix(16)) else {
      throw .cryptoUnavailable
    }
    secretbox = box
    masks = Obfs4NumberStream(seed: keys.dropFirst(48))
    self.counter = counter
  }

  /// Appends one frame. Payload and padding together are limited to ``Obfs4Frame/maximumPayload``: the padding is
  /// shortened first, then the payload. An empty payload also makes a frame.
  ///
  /// - Throws: ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``. Nothing has been appended then,
  ///   and every later call throws the same error.
  package mutating func write(
    payload: ArraySlice<UInt8>, padding: Int, into output: inout [UInt8]
  ) throws(Obfs4Failure) {
    try write(type: 0, payload: payload, padding: padding, into: &output)
  }

  /// Appends a server's seed for the client's tables: 24 bytes. A client ignores a seed of another length.
  package mutating func write(seed: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    try write(type: 1, payload: seed[...], padding: 0, into: &output)
  }

  /// Appends a frame with a packet of any type, for servers that test their client.
  package mutating func write(
    type: UInt8, payload: ArraySlice<UInt8>, padding: Int, into output: inout [UInt8]
  ) throws(Obfs4Failure) {
    let payload = payload.prefix(Obfs4Frame.maximumPayload)
    let padding = max(0, min(padding, Obfs4Frame.maximumPayload - payload.count))
    try seal(Obfs4Frame.headLength + payload.count + padding, into: &output) { packet in
      packet[0] = type
      packet[1] = UInt8(payload.count >> 8)
      packet[2] = UInt8(payload.count & 0xff)
      let behind = UnsafeMutableBufferPointer(rebasing: packet[Obfs4Frame.headLength...])
      _ = behind.update(fromContentsOf: payload)
    }
  }

  /// Appends a frame that contains a packet unchanged, valid or not, for servers that test their client. Bytes beyond
  /// the longest packet are dropped.
  package mutating func write(packet: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    let packet = packet.prefix(Obfs4Frame.boxLengths.upperBound - Obfs4Frame.tagLength)
    try seal(packet.count, into: &output) { _ = $0.update(fromContentsOf: packet) }
  }

  /// Appends a masked length and the given bytes, valid or not, for servers that test their client.
  package mutating func write(length: Int, box: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    try check()
    output += head(length)
    output += box
    counter &+= 1
  }

  private func check() throws(Obfs4Failure) {
    if let failure { throw failure }
    guard counter != 0 else { throw .counterExhausted }
  }

  private mutating func head(_ length: Int) -> [UInt8] {
    let masked = UInt16(truncatingIfNeeded: length) ^ masks.mask()
    return [UInt8(masked >> 8), UInt8(masked & 0xff)]
  }

  /// Appends a frame. The packet is zeroed, then filled in place and sealed.
  private mutating func seal(
    _ length: Int, into output: inout [UInt8], filled fill: (UnsafeMutableBufferPointer<UInt8>) -> Void
  ) throws(Obfs4Failure) {
    try check()
    let before = output.count
    let box = Obfs4Frame.tagLength + length
    output += head(box)
    output += repeatElement(0, count: box)
    let works = output.withUnsafeMutableBufferPointer { output in
      let space = UnsafeMutableBufferPointer(rebasing: output[(before + 2)...])
      let packet = UnsafeMutableBufferPointer(rebasing: space[Obfs4Frame.tagLength...])
      fill(packet)
      return secretbox.seal(counter, UnsafeBufferPointer(packet), into: space)
    }
    guard works else {
      output.removeSubrange(before...)
      failure = .cryptoUnavailable
      throw .cryptoUnavailable
    }
    counter &+= 1
  }
}
