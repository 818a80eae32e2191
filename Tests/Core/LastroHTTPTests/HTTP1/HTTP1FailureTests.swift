// SPDX-License-Identifier: Apache-2.0

import LastroHTTP
import LastroWire
import Testing

@testable import Lastro

@Suite("Failures of HTTP/1.1 exchanges, as the pipeline reports them")
struct HTTP1FailureTests {
  @Test(
    "Each failure has its stage and code, and reports whether the request was sent",
    arguments: [
      (HTTP1Failure.Kind.lostBeforeFirstByte, FailureStage.response, FailureCode.connectionLost),
      (.lostInHead, .response, .connectionLost), (.truncated, .response, .truncatedBody),
      (.answer(HeadViolation(.statusLine, "no")), .response, .malformedResponse),
      (.body(RequestViolation(.body, "no")), .request, .invalidBody),
      (.body(RequestViolation(.trailer, "no")), .request, .invalidHeader),
    ])
  func codes(kind: HTTP1Failure.Kind, stage: FailureStage, code: FailureCode) {
    for requestSent in [true, false] {
      let error = HTTP1Failure(kind: kind, requestSent: requestSent).transportError(requestSent: requestSent)
      #expect(error.stage == stage && error.code == code)
      #expect(error.requestSent == requestSent)
    }
  }
}
