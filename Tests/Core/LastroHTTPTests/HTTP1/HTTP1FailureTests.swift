// SPDX-License-Identifier: Apache-2.0

import LastroHTTP
import LastroWire
import Testing

@testable import Lastro

@Suite("Failures of HTTP/1.1 exchanges, as the pipeline tells them")
struct HTTP1FailureTests {
  @Test(
    "stage, code, and whether the request was sent",
    arguments: [
      (HTTP1Failure.Kind.lostBeforeFirstByte, FailureStage.response, FailureCode.connectionLost),
      (.lostInHead, .response, .connectionLost), (.truncated, .response, .truncatedBody),
      (.answer(HeadViolation(.statusLine, "no")), .response, .malformedResponse),
      (.answer(.bodyTooLarge(5)), .limit, .bodyTooLarge),
      (.body(RequestViolation(.body, "no")), .request, .invalidBody),
      (.body(RequestViolation(.trailer, "no")), .request, .invalidHeader), (.source, .request, .invalidBody),
    ])
  func codes(kind: HTTP1Failure.Kind, stage: FailureStage, code: FailureCode) {
    for requestSent in [true, false] {
      let error = HTTP1Failure(kind: kind, requestSent: requestSent).transportError()
      #expect(error.stage == stage && error.code == code)
      #expect(error.requestSent == requestSent)
    }
  }

  @Test("the error of the body's source is told as it is, with whether the request was sent")
  func source() {
    let own = TransportError.refused(.invalidBody, "the disk is gone")
    let error = HTTP1Failure(kind: .source, requestSent: true).transportError(source: own)
    #expect(error.message == own.message && error.requestSent == true)
  }
}
