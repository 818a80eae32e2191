// SPDX-License-Identifier: Apache-2.0

internal import CLastroBrotli
internal import Lastro
internal import LastroWire

/// A decoder of Brotli (RFC 7932), with windows of up to 16 MiB.
final class BrotliDecoder: ContentDecoding {
  private enum State { case start, within, over }

  private let account: DecodingAccount
  private let decoder: OpaquePointer?
  private var state = State.start
  /// Whether libbrotlidec has more output from the input that it has consumed.
  private var hasPending = false
  /// An error that is thrown once all earlier output has been returned.
  private var broken: CodingViolation?
  private var waste = CodingWaste()

  init(_ memory: DecodingMemory) {
    let account = DecodingAccount(memory)
    self.account = account
    decoder = BrotliDecoderCreateInstance(DecodingAccount.allocate, DecodingAccount.release, account.context)
  }

  deinit { BrotliDecoderDestroyInstance(decoder) }

  var heldBytes: Int { account.heldBytes }

  func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64
  ) throws(CodingViolation) -> CodingProgress {
    guard let decoder else { throw account.violation }
    var progress = CodingProgress()
    while broken == nil, progress.produced < space.count, progress.consumed < input.count || hasPending {
      if state == .over { broken = .trailingBytes } else { run(decoder, input, space, &progress) }
    }
    if let broken, progress.produced == 0 { throw broken }
    try waste.spend(progress, now: now)
    return progress
  }

  func end() throws(CodingViolation) {
    if let broken { throw broken }
    if state == .within { throw .truncatedCoding }
  }

  private func run(
    _ decoder: OpaquePointer, _ input: UnsafeRawBufferPointer, _ space: UnsafeMutableRawBufferPointer,
    _ progress: inout CodingProgress
  ) {
    let source = input.bindMemory(to: UInt8.self)
    let target = space.bindMemory(to: UInt8.self)
    var (available, next) = (source.count - progress.consumed, source.baseAddress.map { $0 + progress.consumed })
    var (room, place) = (target.count - progress.produced, target.baseAddress.map { $0 + progress.produced })
    let result = BrotliDecoderDecompressStream(decoder, &available, &next, &room, &place, nil)
    progress = CodingProgress(consumed: source.count - available, produced: target.count - room)
    hasPending = result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT
    switch result {
    case BROTLI_DECODER_RESULT_SUCCESS: state = .over
    case BROTLI_DECODER_RESULT_ERROR: broken = violation(BrotliDecoderGetErrorCode(decoder))
    default: state = .within
    }
  }

  private func violation(_ code: BrotliDecoderErrorCode) -> CodingViolation {
    switch code.rawValue {
    // -31 is BROTLI_DECODER_ERROR_UNREACHABLE.
    case -30 ... -21: account.violation
    case BROTLI_DECODER_ERROR_FORMAT_WINDOW_BITS.rawValue:
      CodingViolation(.largeWindow, "the compressed body needs a window of more than 16 MiB (RFC 7932)")
    default: .corruptCoding
    }
  }
}
