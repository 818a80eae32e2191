// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension BodyDecoder {
  /// Returns a decoder for a response; `nil` where its body has no coding that is to be decoded.
  ///
  /// - Throws: `response/bad_content_encoding` for codings that are not supported.
  static func make(
    _ head: ResponseHead, _ framing: ResponseFraming, for receiver: ResponseReceiver
  ) throws(TransportError) -> BodyDecoder? {
    try make(
      head, framing, to: receiver.job.request.head.method, expands: receiver.expandsBody,
      isStream: receiver.goesToStream, limits: receiver.limits.decoding)
  }
}
