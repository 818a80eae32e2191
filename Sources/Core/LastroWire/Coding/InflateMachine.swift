// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives

/// Decodes one content coding, gzip or deflate, in pieces of the caller's size.
///
/// It holds zlib's window and tables (40 KiB, counted). It buffers no input or output except the first byte of
/// `deflate`.
///
/// gzip may have several members (RFC 1952 §2.2), followed by up to 64 KiB of zero padding, which some tools add.
/// Checksums and lengths are verified, including those of headers. `deflate` is either the zlib format (RFC 1950) or
/// bare data (RFC 1951): servers send both, and the first two bytes distinguish them.
package final class InflateMachine: ContentDecoding {
  package enum Format: Sendable { case gzip, deflate }

  private enum State {
    case start
    /// The first byte of `deflate` has been received.
    case first(UInt8)
    case within
    case behindMember
    case padding(Int)
    case over
    /// An error occurred. It is thrown once all earlier output has been returned.
    case broken(CodingViolation)
  }

  private static let maximumPadding = 65_536

  private let format: Format
  private var state = State.start
  private var inflater: OpaquePointer?
  private var waste = CodingWaste()

  package init(_ format: Format) { self.format = format }

  deinit { clastro_inflater_free(inflater) }

  /// The number of bytes that zlib holds.
  package var heldBytes: Int { inflater.map(clastro_inflater_held) ?? 0 }

  /// Decodes until the input is used up, the output is full, or an error occurs, which the next call throws. If nothing
  /// was produced, all input has been consumed and more is needed.
  ///
  /// - Parameter now: in nanoseconds, for the rate of input that produces no data. Default 0: there is no clock, and
  ///   only output refills the budget.
  /// - Throws: ``CodingViolation``. The machine must not be used any more then.
  package func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64 = 0
  ) throws(CodingViolation) -> CodingProgress {
    var progress = CodingProgress()
    while try step(input, space, &progress) {}
    try waste.spend(progress, now: now)
    return progress
  }

  /// Ends the input. Empty input is a valid empty body.
  ///
  /// - Throws: ``CodingViolation`` of kind `truncated`.
  package func end() throws(CodingViolation) {
    switch state {
    case .start, .behindMember, .padding, .over: return
    case .first, .within: throw .truncatedCoding
    case .broken(let violation): throw violation
    }
  }

  /// Performs one step. Returns whether there may be more to do.
  private func step(
    _ input: UnsafeRawBufferPointer, _ space: UnsafeMutableRawBufferPointer, _ progress: inout CodingProgress
  ) throws(CodingViolation) -> Bool {
    switch state {
    case .within: return inflate(input, space, &progress)
    case .broken(let violation):
      guard progress.produced > 0 else { throw violation }
      return false
    default: break
    }
    guard progress.consumed < input.count else { return false }
    let byte = input[progress.consumed]
    switch state {
    case .start where format == .gzip:
      open(CLASTRO_GZIP)
    case .start:
      state = .first(byte)
      progress.consumed += 1
    case .first(let first):
      open(Self.isZlib(first, byte) ? CLASTRO_ZLIB : CLASTRO_RAW)
      // Pass the first byte to zlib, which produces no output from it yet.
      var (first, nothing) = (first, UInt8(0))
      if let inflater { _ = clastro_inflater_run(inflater, &first, 1, &nothing, 0) }
    case .behindMember where byte == 0x1F:
      state = clastro_inflater_restart(inflater) == Z_OK ? .within : .broken(.noCodingMemory)
    case .behindMember where byte == 0:
      state = .padding(0)
    case .padding(let count) where byte == 0 && count < Self.maximumPadding:
      state = .padding(count + 1)
      progress.consumed += 1
    case .behindMember, .padding, .over: state = .broken(.trailingBytes)
    case .within, .broken: break
    }
    return true
  }

  private func inflate(
    _ input: UnsafeRawBufferPointer, _ space: UnsafeMutableRawBufferPointer, _ progress: inout CodingProgress
  ) -> Bool {
    guard progress.produced < space.count else { return false }
    let rest = UnsafeRawBufferPointer(rebasing: input[progress.consumed...])
    let room = UnsafeMutableRawBufferPointer(rebasing: space[progress.produced...])
    let result = clastro_inflater_run(inflater, rest.baseAddress, rest.count, room.baseAddress, room.count)
    progress.consumed += result.consumed
    progress.produced += result.produced
    switch result.status {
    case Z_STREAM_END:
      state = format == .gzip ? .behindMember : .over
      return true
    case Z_OK, Z_BUF_ERROR:
      return progress.consumed < input.count && result.consumed + result.produced > 0
    case Z_MEM_ERROR: state = .broken(.noCodingMemory)
    default: state = .broken(.corruptCoding)
    }
    return true
  }

  private func open(_ format: clastro_format) {
    inflater = clastro_inflater_make(format)
    state = inflater == nil ? .broken(.noCodingMemory) : .within
  }

  /// Returns whether these are the first two bytes of the zlib format (RFC 1950 §2.2). Bare data can start like this
  /// only with a stored block whose padding is not zero, which no compressor writes.
  private static func isZlib(_ first: UInt8, _ second: UInt8) -> Bool {
    first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) << 8 | Int(second)) % 31 == 0
  }
}
