// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

private func ask(_ stack: any HTTPNetworkStack, _ url: String) async throws -> String {
  // sample: ask
  var text = ""
  let answer = stack.events(.completion(of: "Why is the sky blue?", at: url))
    .decoding(Chunk.self, until: "[DONE]", failure: .key("error"))
  for try await chunk in answer { text += chunk.choices.first?.delta.content ?? "" }
  // end
  return text
}

private func silent(_ stack: any HTTPNetworkStack, _ url: String, _ silence: Duration) async {
  // sample: deadlines
  var resource = HTTPResource.completion(of: "Why is the sky blue?", at: url)
  var limits = Timeouts.streaming
  limits.connect = .seconds(2)
  limits.idle = .seconds(10)
  limits.total = .seconds(120)
  resource.options.timeouts = limits
  let answer = stack.events(resource, firstEvent: .seconds(20)).decoding(Chunk.self, until: "[DONE]")
  // end
  _ = answer
  resource.options.timeouts?.idle = silence / 2
  do {
    for try await _ in stack.events(resource, firstEvent: silence) {}
  } catch {
    print("\(error.stage)/\(error.code)")
  }
}

private func enough(_ stack: any HTTPNetworkStack, _ url: String) async throws {
  // sample: enough
  let answer = stack.events(.completion(of: "Count to a million.", at: url)).decoding(Chunk.self)
  var words = 0
  for try await _ in answer {
    words += 1
    if words == 3 { break }
  }
  // end
  print("\(words) words")
}

// sample: patience
extension Retry.Policy where Metadata == HTTPRetryMetadata {
  /// Asks again only where the service said that it did nothing, and so charged nothing.
  static let whereNothingWasDone = Self.custom { error, state, metadata in
    let refusals = [429, 503, 529]
    guard let status = metadata.response?.status.code, refusals.contains(status), state.retryCount < 4 else {
      return .none
    }
    return .retryAfter(.seconds(1 << state.retryCount))
  }
}
// end

private func patient(_ transport: some Transport, _ clock: ManualClock) -> TransportNetworkStack {
  var configuration = StackConfiguration()
  configuration.timeSource = clock.timeSource
  // sample: patient
  configuration.interceptors = [HTTPRetryPolicy.whereNothingWasDone]
  configuration.streamTimeouts.idle = .seconds(30)
  // end
  return TransportNetworkStack(transport: transport, configuration: configuration)
}

private func asked(_ stack: any HTTPNetworkStack, _ url: String) async throws -> AttemptLedger? {
  // sample: repeated
  var resource = HTTPResource.completion(of: "Why is the sky blue?", at: url)
  resource.options.idempotency = .idempotent
  let events = stack.events(resource)
  // end
  for try await _ in events {}
  return events.response?.ledger
}

private func retries(_ stage: Stage) async throws {
  let type: HTTPFields = [.contentType: "text/event-stream"]
  let transport = ScriptedTransport([
    .respond(status: 429, headers: [.retryAfter: "7"]), .respond(status: 529),
    .respond(status: 200, headers: type, body: "data: [DONE]\n\n"), .respond(status: 500),
  ])
  let clock = ManualClock(autoAdvance: true)
  let stack = patient(transport, clock)
  try await stage.prints("repeated") {
    let ledger = try await asked(stack, "https://llm.example.com/v1")
    print(ledger?.attempts.map { "\($0.status?.code ?? 0)" }.joined(separator: ", ") ?? "")
  }
  stage.check("the server's wait is kept", clock.sleeps.first.map { $0 >= .seconds(7) } ?? false)
  do {
    _ = try await asked(stack, "https://llm.example.com/v1")
    stage.check("a 500 is not asked again", false)
  } catch {
    stage.check("a 500 is not asked again", transport.requests.count == 4)
  }
}

extension Page {
  static let callingAnLLM = Page("CallingAnLLM") { stage in
    let ended = EventRecorder<Void>()
    let model = try LoopbackServer { connection in
      guard let request = try connection.readRequest() else { return }
      if request.text.contains("million") {
        let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"more \"}}]}\n\n"
        let chunk = "\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n"
        try connection.write("HTTP/1.1 200 \r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<3 { try connection.write(chunk) }
        _ = connection.readToEnd()
        ended.record(())
      } else {
        connection.stall()
      }
    }
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    let stack = try CurlNetworkStack(engine)
    await stage.prints("deadlines") { await silent(stack, model.baseURL, .milliseconds(100)) }
    try await stage.prints("enough") { try await enough(stack, model.baseURL) }
    try await ended.waitForEvents(count: 1)
    stage.check("who leaves hangs up", ended.events.count == 1)
    let whole = ScriptedTransport([
      .respond(
        status: 200, headers: [.contentType: "text/event-stream"],
        body: "data: {\"choices\":[{\"delta\":{\"content\":\"Light scatters.\"}}]}\n\ndata: [DONE]\n\n")
    ])
    let text = try await ask(TransportNetworkStack(transport: whole), "https://llm.example.com/v1")
    stage.check("an answer comes in pieces", text == "Light scatters.")
    try await retries(stage)
    model.stop()
  }
}
