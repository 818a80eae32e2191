// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroExchange
internal import LastroWire

extension BodyDecoder {
  /// - Returns: `nil` where the body is what the carrier hands over.
  /// - Throws: `response/bad_content_encoding` for codings that are not undone.
  static func make(
    _ head: ResponseHead, _ framing: ResponseFraming, for receiver: ResponseReceiver, undoesChunks: Bool = true
  ) throws(TransportError) -> BodyDecoder? {
    try make(
      head, framing, to: receiver.job.request.head.method, undoesChunks: undoesChunks, expands: receiver.expandsBody,
      isStream: receiver.goesToStream, limits: receiver.limits.decoding)
  }
}

extension TransferLimits {
  /// What of them a decoder holds to.
  var decoding: DecodingLimits {
    DecodingLimits(
      codings: contentCodings, ratio: decompressionRatio, floor: decompressionFloor, headBytes: headBytes,
      fields: headFields)
  }
}
