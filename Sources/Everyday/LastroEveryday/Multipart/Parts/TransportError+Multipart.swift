// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// A multipart message has more parts than the limit.
  public static let tooManyParts = Self("too_many_parts")
}

extension MultipartViolation {
  /// The violation as the error for the reader of the parts.
  var transportError: TransportError {
    let (stage, code): (FailureStage, FailureCode) =
      switch kind {
      case .truncated: (.response, .truncatedBody)
      case .headTooLarge, .tooManyFields: (.limit, .headTooLarge)
      case .tooManyParts: (.limit, .tooManyParts)
      case .preambleTooLarge: (.limit, .bodyTooLarge)
      case .bareLineFeed, .field, .paddingTooLong: (.response, .malformedResponse)
      }
    let hint =
      switch kind {
      case .truncated: TransportError.cutHint
      case .headTooLarge: "raise maximumHeadBytes if the server is trusted"
      case .tooManyFields: "raise maximumFields if the server is trusted"
      case .tooManyParts: "raise maximumParts if the server is trusted"
      case .preambleTooLarge: "check that Content-Type names the boundary that the body has"
      default: "the server does not follow RFC 2046: report it to its owner"
      }
    return TransportError(stage: stage, code: code, message: message, hint: hint, requestSent: true)
  }
}

extension TransportError {
  static func partWithoutRange(_ number: Int) -> Self {
    Self(
      stage: .response, code: .malformedResponse,
      message: "part \(number) of the multipart/byteranges answer has no valid Content-Range",
      hint: "ask for one range at a time, or report it to the server's owner", requestSent: true)
  }

  static func partPassedOver(_ number: Int) -> Self {
    refused(
      .invalidBody, "part \(number) was skipped: the next part was requested before its body was read",
      hint: "read a part's body before the next part")
  }

  static func notMultipart(_ contentType: String?) -> Self {
    let found = contentType.map { "has the type \"\($0.prefix(80).escapedForDisplay)\"" } ?? "has no Content-Type"
    return Self(
      stage: .response, code: FailureCode("unexpected_content_type"),
      message: "the answer \(found) and is not multipart",
      hint: "look at the status and the type first: an answer to Range may have one range, or all", requestSent: true)
  }

  static let noBoundary = TransportError(
    stage: .response, code: .malformedResponse,
    message: "the Content-Type of the multipart answer names no boundary of 1 to 70 characters",
    hint: "the server does not follow RFC 2046: report it to its owner", requestSent: true)
}
