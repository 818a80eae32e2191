// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension EventStreamOptions {
  var limits: EventStreamMachine.Limits {
    .init(lineBytes: maximumLineBytes, eventBytes: maximumEventBytes, idBytes: maximumIDBytes)
  }

  /// The limit for the first event, with its names in errors.
  var firstElement: FirstElementLimit? {
    firstEvent.map { FirstElementLimit(limit: $0, element: "event", option: "EventStreamOptions.firstEvent") }
  }

  /// Throws a refusal of invalid options.
  func check() throws(TransportError) {
    for (name, value) in [
      ("maximumEventBytes", maximumEventBytes), ("maximumLineBytes", maximumLineBytes),
      ("maximumIDBytes", maximumIDBytes),
    ] where value < 1 {
      throw .refused(
        .invalidOption, "EventStreamOptions.\(name) is \(value), below the minimum of 1", hint: "give 1 or more")
    }
    if let firstEvent, firstEvent <= .zero {
      throw .refused(
        .invalidOption, "EventStreamOptions.firstEvent is \(firstEvent.brief), which is not positive",
        hint: "give a positive one, or nil for no limit")
    }
    if case .always(let failures?) = reconnection, failures < 0 {
      throw .refused(
        .invalidOption, "EventStreamOptions.reconnection allows \(failures) failures, below the minimum of 0",
        hint: "give 0 or more, or nil for no limit")
    }
    try checkID()
  }

  private func checkID() throws(TransportError) {
    guard lastEventID.utf8.count <= maximumIDBytes else {
      throw .refused(
        .invalidOption,
        "EventStreamOptions.lastEventID has \(lastEventID.utf8.count) bytes, above the maximum of \(maximumIDBytes)",
        hint: "give the identifier of an event, or raise maximumIDBytes")
    }
    guard lastEventID.utf8.allSatisfy(FieldSyntax.isValue) else {
      throw .refused(
        .invalidOption,
        "EventStreamOptions.lastEventID \"\(lastEventID.escapedForDisplay)\" has a control character",
        hint: "give the identifier of an event, as ServerSentEvent.lastEventID has it")
    }
  }
}
