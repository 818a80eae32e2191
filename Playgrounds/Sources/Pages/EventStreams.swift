// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

private func follow(stack: any HTTPNetworkStack, url: String) async throws {
  // sample: follow
  let orders = stack.events(.get(url))
  for try await event in orders {
    print(event.lastEventID, event.name, event.data)
  }
  // end
}

private func goOn(stack: any HTTPNetworkStack, url: String, saved: String) -> EventStream<ServerSentEvent, any Error> {
  // sample: options
  let orders = stack.events(.get(url), lastEventID: saved, maximumReconnections: .max)
  // end
  return orders
}

private func watch(_ orders: EventStream<ServerSentEvent, any Error>) {
  // sample: states
  let watching = Task {
    for await state in orders.states {
      if case .waiting(let wait, _) = state { print("again in \(wait)") }
    }
  }
  // end
  watching.cancel()
}

// sample: models
struct Chunk: Decodable {
  struct Choice: Decodable {
    struct Delta: Decodable {
      var content: String?
    }

    var delta: Delta
  }

  var choices: [Choice]
}

struct ModelError: Error, Decodable {
  struct Details: Decodable {
    var message: String
  }

  var error: Details
}

extension HTTPResource where Model == ResponseBody, APIError == ModelError {
  static func completion(of prompt: String, at url: String) -> Self {
    .post(url, json: ["model": "small", "prompt": prompt, "stream": "true"])
  }
}
// end

private func talk(stack: any HTTPNetworkStack, url: String) async throws {
  // sample: talk
  let answer = stack.events(.completion(of: "Why is the sky blue?", at: url))
    .decoding(Chunk.self, until: "[DONE]", failure: .key("error"))
  var text = ""
  do {
    for try await chunk in answer { text += chunk.choices.first?.delta.content ?? "" }
    print("whole:", text)
  } catch  where error.code == .truncatedStream {
    print("cut:", text)
  } catch {
    print("failed: \(error.apiError?.error.message ?? error.message), after: \(text)")
  }
  // end
}

/// A gateway's response to its client, which a server framework would send.
private struct Reply: Equatable {
  var status: HTTPResponse.Status?
  var retryAfter: String?
  var body = ""

  mutating func send(_ status: HTTPResponse.Status, retryAfter: String? = nil) {
    (self.status, self.retryAfter) = (status, retryAfter)
  }

  mutating func write(_ text: String) { body += text }
}

private func gateway(stack: any HTTPNetworkStack, prompt: String, url: String) async -> Reply {
  var reply = Reply()
  // sample: gateway
  let events: EventStream<ServerSentEvent, ModelError>
  do {
    events = try await stack.events(.completion(of: prompt, at: url))
      .opened(until: "[DONE]", failure: .key("error"))
  } catch {
    let isBusy = error.statusCode == .tooManyRequests
    reply.send(isBusy ? .tooManyRequests : .badGateway, retryAfter: error.response?.headerFields[.retryAfter])
    return reply
  }
  reply.send(.ok)
  do {
    for try await event in events { reply.write(event.wireText) }
  } catch {
    // The status has left: an event tells the client, which gets no end mark.
    reply.write("event: error\ndata: \(error.code)\n\n")
  }
  // end
  return reply
}

private func lines(stack: any HTTPNetworkStack, url: String) async throws {
  // sample: lines
  struct Part: Decodable {
    var response: String
    var done: Bool
  }

  for try await part in stack.jsonLines(Part.self, of: .get(url), until: \.done) {
    print(part.response)
  }
  // end
}

private func log(stack: any HTTPNetworkStack, url: String) async throws {
  // sample: text
  let log = try await stack.stream(.get(url)).value
  for try await line in log.lines { print(line) }
  // end
}

/// The servers of the guide: an order service that restarts after its second event, and a model that is called three
/// times.
private struct Service {
  let orders: LoopbackServer
  let model: LoopbackServer
  let parts: LoopbackServer

  init() throws {
    let type: KeyValuePairs<String, String> = ["Content-Type": "text/event-stream"]
    orders = try LoopbackServer.http { request in
      switch request.headers["Last-Event-ID"] {
      case nil:
        let text = "retry: 10\n\nid: 1\nevent: placed\ndata: tea\n\nid: 2\nevent: placed\ndata: cups\n\n"
        return LoopbackResponse(headers: type, body: Array(text.utf8))
      case "2": return LoopbackResponse(headers: type, body: Array("id: 3\nevent: paid\ndata: tea\n\n".utf8))
      default: return LoopbackResponse(status: 204)
      }
    }
    let asked = EventRecorder<Int>()
    model = try LoopbackServer.http { _ in
      asked.record(1)
      let end = ["data: [DONE]\n\n", "", "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"][asked.events.count - 1]
      let words = ["Light", " scatters."].prefix(asked.events.count == 1 ? 2 : 1)
        .map { "data: {\"choices\":[{\"delta\":{\"content\":\"\($0)\"}}]}\n\n" }
      return LoopbackResponse(headers: type, body: Array((words.joined() + end).utf8))
    }
    parts = try LoopbackServer.http { _ in
      let text = #"{"response":"Light","done":false}"# + "\n" + #"{"response":"scatters.","done":true}"# + "\n"
      return LoopbackResponse(headers: ["Content-Type": "application/x-ndjson"], body: Array(text.utf8))
    }
  }
}

extension Page {
  static let eventStreams = Page("EventStreams") { stage in
    let service = try Service()
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    let stack = try CurlNetworkStack(engine)
    try await stage.prints("follow") { try await follow(stack: stack, url: service.orders.baseURL) }
    stage.check("the server was asked three times", service.orders.requests.count == 3)
    try await stage.prints("talk") {
      for _ in 0..<3 { try await talk(stack: stack, url: service.model.baseURL) }
    }
    stage.check("each question was sent once", service.model.requests.count == 3)
    let passed = ScriptedTransport([
      .respond(
        status: .ok, headers: [.contentType: "text/event-stream"], body: "event: a\ndata: b\n\ndata: [DONE]\n\n"),
      .respond(status: .tooManyRequests, headers: [.retryAfter: "7"]),
      .respond(status: .ok, headers: [.contentType: "text/event-stream"], body: "data: b\n\n"),
      .respond(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"),
    ])
    let upstream = TransportNetworkStack(transport: passed)
    var replies: [Reply] = []
    for _ in 0..<4 { replies.append(await gateway(stack: upstream, prompt: "Why?", url: "https://model.example/")) }
    stage.check(
      "a gateway passes events on, with the end mark",
      replies[0] == Reply(status: .ok, body: "event: a\ndata: b\n\ndata: [DONE]\n\n"))
    stage.check(
      "and a refusal as its own status", replies[1] == Reply(status: .tooManyRequests, retryAfter: "7"))
    stage.check(
      "and a failure midway as an event",
      replies[2] == Reply(status: .ok, body: "data: b\n\nevent: error\ndata: truncated_stream\n\n"))
    stage.check("and an error of the upstream, sent as its first event", replies[3] == Reply(status: .badGateway))
    try await stage.prints("lines") { try await lines(stack: stack, url: service.parts.baseURL) }
    try await stage.prints("text") { try await log(stack: stack, url: service.parts.baseURL) }
    let orders = goOn(stack: stack, url: service.orders.baseURL, saved: "2")
    watch(orders)
    var events = orders.makeAsyncIterator()
    stage.check("it goes on after what was saved", try await events.next()?.lastEventID == "3")
  }
}
