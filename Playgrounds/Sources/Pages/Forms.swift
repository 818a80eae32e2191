// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting

private func form(_ stack: TransportNetworkStack, _ path: String) async throws {
  // sample: form
  var form = MultipartForm()
  form.add("title", "Lisbon")
  form.add("token", secret: "s3cr3t")
  try form.add("photo", file: path, contentType: "image/jpeg")
  let body = try RequestBody.multipart(form)
  let answer = try await stack.fetch(.send(.post, "https://api.example.org/photos", body: body))
  // end
  print(answer.response.status.code, body.isReplayable)
}

private func stream(_ lines: AsyncStream<Data>) throws -> RequestBody {
  // sample: stream
  var form = MultipartForm()
  form.add("about", try .json(["kind": "log"]))
  form.add("log", .stream(lines), filename: "today.log")
  let body = try RequestBody.multipart(form)
  print(body.length as Any, body.isReplayable)
  // end
  return body
}

private func repeatable() async throws {
  let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200)])
  var configuration = StackConfiguration(interceptors: [.retry(.maxRetries(1))])
  configuration.timeSource = ManualClock(autoAdvance: true).timeSource
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  // sample: repeatable
  let making = BaseRequestMaking {
    var form = MultipartForm()
    form.add("title", "Lisbon")
    return try ResourceRequest(method: .post, url: "https://api.example.org/photos", body: .multipart(form))
  }
  var options = RequestOptions()
  options.idempotency = .generatedKey
  _ = try await stack.fetch(RawHTTPResource(baseRequestMaking: making, options: options))
  print("\(transport.requests.count) attempts, \(Set(transport.requests.map(\.body.contentType)).count) boundary")
  // end
}

private func parts() async throws {
  let text =
    "--b\r\nContent-Range: bytes 0-4/20\r\n\r\nhello\r\n--b\r\nContent-Range: bytes 15-19/20\r\n\r\nworld\r\n--b--\r\n"
  let stack = TransportNetworkStack(
    transport: ScriptedTransport([
      .respond(
        status: .partialContent, headers: [.contentType: "multipart/byteranges; boundary=b"], body: text)
    ]))
  // sample: parts
  let request = try ResourceRequest(
    url: "https://example.org/large", headers: [.range: "bytes=0-4,15-19", "Accept-Encoding": "identity"])
  let answer = try await stack.stream(request)
  for try await part in try answer.value.parts(of: answer.response.headerFields) {
    let bytes = try await part.body.collect(upTo: 1 << 20)
    print(part.byteRange?.lowerBound ?? 0, String(decoding: bytes, as: UTF8.self))
  }
  // end
}

extension Page {
  static let forms = Page("Forms") { stage in
    let stack = TransportNetworkStack(
      transport: ScriptedTransport { _ throws(TransportError) in
        TransferResponse(head: HTTPResponse(status: .created), body: ResponseBody(Data()))
      })
    try await form(stack, #filePath)
    try await stage.prints("stream") { _ = try stream(AsyncStream { $0.finish() }) }
    try await stage.prints("repeatable") { try await repeatable() }
    try await stage.prints("parts") { try await parts() }
  }
}
