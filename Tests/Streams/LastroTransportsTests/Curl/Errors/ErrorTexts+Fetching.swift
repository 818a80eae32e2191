// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroObservability
import LastroTesting
import Testing

@testable import Lastro

extension ErrorTexts {
  private struct Model: Decodable {
    var name: String
    var age: Int?
  }

  /// How a call's failures read.
  static func calls() throws -> Self {
    var texts = Self()
    let lost = TransportError(stage: .send, code: .sendFailed, message: "sending failed")
    func error(_ reason: HTTPFetchError<any Error>.Reason, end: Retry.End? = nil) -> HTTPFetchError<any Error> {
      HTTPFetchError(reason, request: "GET https://a.example/", retryEnd: end)
    }
    texts.add(
      error(.noRequest(CocoaError(.fileNoSuchFile))), error(.http(.notFound, nil)), error(.http(.unauthorized, nil)),
      error(.noData(.ok)), error(.transport(lost)), error(.cancelled))
    let noFrames = TransportError(stage: .response, code: .http2Failure, message: "the server broke HTTP/2")
    texts.add(HTTPFetchError<any Error>(.transport(noFrames), request: "GET http://a.example/"))
    let origin = try Origin("https://a.example")
    let ends: [Retry.End] = [
      .policy(.retries(3)), .policy(.delay(.seconds(3))), .attemptLimit(3), .quotaSpent(origin), .trust,
      .notIdempotent(.post), .retriedBefore, .bodyConsumed, .deadlinePassed,
      .deadlineTooClose(wait: .seconds(3), left: .seconds(2), isDemanded: false),
      .deadlineTooClose(wait: .seconds(3), left: .seconds(2), isDemanded: true),
      .retryAfterTooLong(wait: .seconds(90), limit: .seconds(60)),
    ]
    for end in ends { texts.add("Retry.End", end.description) }
    for json in [#"{}"#, #"{"name": null}"#, #"{"name": 1}"#, "{"] {
      do {
        _ = try JSONDecoder().decode(Model.self, from: Data(json.utf8))
      } catch {
        texts.add("DecodeFailure", DecodeFailure.line(error))
      }
    }
    for json in ["{", "{]"] {
      do {
        _ = try JSONDecoder().decode(Model.self, from: Data(json.utf8))
      } catch {
        texts.add("DecodeFailure", "\(DecodeFailure(error, payload: Data(json.utf8), metadata: ()))")
      }
    }
    texts.add(
      "DecodeFailure", DecodeFailure.line(DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))))
    texts.add("BodyCut", "\(BodyCut.limit(9))")
    texts.add(FetchAndDecodeError<any Error>.cancelled)
    texts.add(RawAPIError(bytes: Data([1, 2])))
    texts.add(TransportError.cancelled())
    texts.add(Retry.Error.retries(3))
    texts.add(error(.noRequest(error(.transport(lost)))))
    let decodings: [() throws -> Any] = [
      { try ModelDecoding<Model, Data, Void>.json().decode(Data(), ()) },
      { try ModelDecoding<String, Data, Void>.text.decode(Data([0xFF]), ()) },
    ]
    for decode in decodings {
      do { _ = try decode() } catch { texts.add("DecodeFailure", DecodeFailure.line(error)) }
    }
    return texts
  }

  static func bodies() async throws -> Self {
    var texts = Self()
    await texts.provoke { try await ResponseBody(Data(count: 10)).collect(upTo: 9) }
    let get = try ResourceRequest(url: "https://a.example/")
    func send(_ steps: [ScriptedTransport.Step], _ request: ResourceRequest? = nil, count: Int = 1) async {
      let transport = ScriptedTransport(steps)
      var request = TransferRequest(head: (request ?? get).head)
      request.delivery = .collected(maximumBytes: 9)
      for _ in 1..<count { _ = try? await transport.execute(request) }
      await texts.provoke { try await transport.execute(request) }
    }
    await send([])
    await send([.respond(status: 200, body: Data(count: 10))])
    await send([.expect(method: .put, path: "/x", then: .respond(status: 200))])
    let transport = ScriptedTransport([.respond(status: 200)])
    texts.provoke({ try transport.verify() })
    let models: [() throws -> Any] = [
      { try HAR(json: Data("{".utf8)) }, { try HARReplayTransport(contentsOfFile: "/nowhere/a.har") },
    ]
    for model in models { texts.provoke(model) }
    for error: LoopbackError in [
      .cannotListen("r"), .invalidTLS("r"), .handshakeFailed("r"), .disconnected, .malformedRequest("r"), .stopped,
      .outOfResources("r"),
    ] { texts.add(error) }
    for error: CertificateError in [
      .cannotMint("r"), .unreadable("r"), .cannotWrite("r"), .invalid(code: 1, reason: "r"),
    ] {
      texts.add(error)
    }
    return texts
  }
}
