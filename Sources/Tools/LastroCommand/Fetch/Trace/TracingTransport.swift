// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl

/// A transport that writes every request, and every response, to a trace. Retries, redirects and authentication send
/// requests of their own.
///
/// It sees heads as they are passed to the engine, and bodies before the engine encodes and after it decodes them.
struct TracingTransport: Transport {
  let base: any Transport
  let log: TraceLog
  /// The configuration of the engine, for the header fields that it adds.
  let engine: CurlConfiguration

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var request = request
    let (log, redaction) = (log, Redaction.standard.adding(request.resourceRequest))
    write(request, redaction)
    request.body = traced(request.body, redaction)
    let other = request.onInterimResponse
    request.onInterimResponse = { head in
      other?(head)
      Self.write(head, nil, redaction, to: log)
    }
    do throws(TransportError) {
      var response = try await base.execute(request)
      if let place = Self.place(response.facts) { log.write(log.text.info(place)) }
      Self.write(response.head, response.facts.httpVersion, redaction, to: log)
      response.body = traced(response.body, redaction)
      return response
    } catch {
      log.write(log.text.info(redaction.text("\(error)")))
      throw error
    }
  }

  private static func place(_ facts: TransferFacts) -> String? {
    guard let address = facts.remoteAddress else { return nil }
    let port = facts.remotePort.map { ":\($0)" } ?? ""
    return "\(facts.connectionReused ? "a reused" : "a new") connection to \(address.bracketedHost)\(port)"
  }

  private func write(_ request: TransferRequest, _ redaction: Redaction) {
    let (head, body) = (request.head, request.body)
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    let fields = engine.addedFields(to: head, body) + Array(head.headerFields)
    var text = log.text.head(.sent, "\(head.method.rawValue) \(redaction.url(url))", fields, redaction)
    if case .bytes(let data) = body.source, !data.isEmpty {
      text += log.text.body(.sent, Array(data.prefix(TraceText.maximumBody)), count: Int64(data.count), redaction)
    }
    log.write(text)
  }

  private static func write(_ head: HTTPResponse, _ version: String?, _ redaction: Redaction, to log: TraceLog) {
    log.write(log.text.head(.received, head.shownStatusLine(version), Array(head.headerFields), redaction))
  }

  /// Returns a body that is also written to the trace when it has been sent. A file is read in pieces, like a stream.
  private func traced(_ body: RequestBody, _ redaction: Redaction) -> RequestBody {
    var source = body.source
    if case .file(let path, let length) = source, let slice = try? RequestBody.file(path: path, length: length) {
      source = slice.source
    }
    guard case .stream(let length, let isReplayable, let open) = source else { return body }
    let log = log
    let traced: @Sendable () -> RequestBody.NextChunk = {
      let next = open()
      let record = TracedBody(.sent, redaction, log)
      return {
        let piece = try await next()
        if let piece { record.add(piece) } else { record.writeToTrace(isCut: false) }
        return piece
      }
    }
    return RequestBody(
      source: .stream(length: length, isReplayable: isReplayable, open: traced), contentType: body.contentType,
      secrets: body.secrets, trailers: body.trailers)
  }

  private func traced(_ body: ResponseBody, _ redaction: Redaction) -> ResponseBody {
    if let bytes = body.bytes {
      if !bytes.isEmpty {
        log.write(
          log.text.body(
            .received, Array(bytes.prefix(TraceText.maximumBody)), count: Int64(bytes.count), redaction))
      }
      return body
    }
    return body.upgraded == nil ? ResponseBody(source: TracedResponseBody(body, redaction, log)) : body
  }
}
