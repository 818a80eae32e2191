// SPDX-License-Identifier: Apache-2.0

internal import CLastroZstd
internal import Lastro
internal import LastroWire

/// A decoder of Zstandard (RFC 8878).
///
/// The magic number of each frame is checked here, because libzstd may also read formats older than the RFC, whose
/// memory it does not count.
final class ZstdDecoder: ContentDecoding {
  private enum State {
    /// This many bytes of the first or a further frame's magic number have been received.
    case magic(Int)
    case within
  }

  /// RFC 9659: no more than 8 MiB.
  private static let windowLog: Int32 = 23
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
  /// The magic number of skippable frames, whose first byte may be 0x50 to 0x5F.
  private static let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18]

  private let account: DecodingAccount
  private let context: OpaquePointer?
  private var state = State.magic(0)
  private var isFirstFrame = true
  private var isSkippable = false
  /// Whether libzstd may have more output from the input that it has consumed.
  private var hasPending = false
  /// An error that is thrown once all earlier output has been returned.
  private var broken: CodingViolation?
  private var waste = CodingWaste()

  init(_ memory: DecodingMemory) {
    let account = DecodingAccount(memory)
    self.account = account
    let context = ZSTD_createDCtx_advanced(
      ZSTD_customMem(
        customAlloc: DecodingAccount.allocate, customFree: DecodingAccount.release, opaque: account.context))
    self.context = context
    if let context { ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog) }
  }

  deinit { ZSTD_freeDCtx(context) }

  var heldBytes: Int { account.heldBytes }

  func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64
  ) throws(CodingViolation) -> CodingProgress {
    if let broken { throw broken }
    guard let context else { throw account.violation }
    var progress = CodingProgress()
    do throws(CodingViolation) {
      while progress.produced < space.count, progress.consumed < input.count || hasPending {
        try run(context, input, space, &progress)
      }
    } catch {
      guard progress.produced > 0 else { throw error }
      broken = error
    }
    try waste.spend(progress, now: now)
    return progress
  }

  func end() throws(CodingViolation) {
    if let broken { throw broken }
    if case .magic(0) = state { return }
    throw .truncatedCoding
  }

  private func run(
    _ context: OpaquePointer, _ input: UnsafeRawBufferPointer, _ space: UnsafeMutableRawBufferPointer,
    _ progress: inout CodingProgress
  ) throws(CodingViolation) {
    var end = input.count
    if case .magic(let count) = state {
      try checkMagic(input[progress.consumed], at: count)
      end = progress.consumed + 1
    }
    var source = ZSTD_inBuffer(src: input.baseAddress, size: end, pos: progress.consumed)
    var target = ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: progress.produced)
    let result = ZSTD_decompressStream(context, &target, &source)
    if ZSTD_isError(result) != 0 { throw violation(ZSTD_getErrorCode(result)) }
    hasPending = target.pos == target.size
    (progress.consumed, progress.produced) = (source.pos, target.pos)
    switch state {
    case .magic(3): state = .within
    case .magic(let count): state = .magic(count + 1)
    case .within where result == 0:
      (state, isFirstFrame, hasPending) = (.magic(0), false, false)
    case .within: break
    }
  }

  private func checkMagic(_ byte: UInt8, at index: Int) throws(CodingViolation) {
    if index == 0 { isSkippable = byte & 0xF0 == Self.skippable[0] }
    let isRight = isSkippable ? index == 0 || byte == Self.skippable[index] : byte == Self.magic[index]
    guard isRight else { throw isFirstFrame ? .corruptCoding : .trailingBytes }
  }

  private func violation(_ code: ZSTD_ErrorCode) -> CodingViolation {
    switch code {
    case ZSTD_error_memory_allocation: account.violation
    case ZSTD_error_frameParameter_windowTooLarge:
      CodingViolation(.largeWindow, "the compressed body needs a window of more than 8 MiB (RFC 9659)")
    case ZSTD_error_dictionary_wrong:
      CodingViolation(.corrupt, "the compressed body needs a dictionary, which was not asked for")
    default: .corruptCoding
    }
  }
}
