// SPDX-License-Identifier: Apache-2.0
//
// A second form of the pool of one host: its connections, GOAWAY, and the rules of resending. `make model` verifies it
// with spin (Tests/Models/check), and asserts that spin finds every bug that a BUG_ macro plants.
//
// The model follows Sources/Core/LastroHTTP. Comments use the names of Swift:
//   - The first part is `HostMachine`: its state, its events and its steps.
//   - The second part is `HostPool` with `HostPool+Resending`, `HTTP1Session`, `HTTP2Multiplexer` and `HTTP2Call`: it
//     performs steps, and decides what becomes of a request whose stream or connection ends.
//   - The third part chooses what happens: it has the callers, the loop, the dials, the server and the network.
// If one of these rules changes in Swift, change it here, too.
//
// The model leaves out trust rules, HTTP_1_1_REQUIRED (which is resent like REFUSED_STREAM), `Expect`, connect timeouts
// (a deadline ends a request as its caller does), suspect connections, the limit of restarts, connections that end
// between their opening and their first request, servers that allow no streams, and shutdown. The server is honest: it
// processes no request that it refused, and none above the last stream of its GOAWAY. It may have processed every other
// request that was sent to it.

#define REQUESTS 3
#define CONNECTIONS 2   // HostMachine.Limits.connections
#define DIALS 2         // HostMachine.Limits.dials
#define STREAMS 2       // HostMachine.Limits.streams
#define SLOTS 4         // places for connections, including those that accept no more requests
#define NONE 7
#define MOST_REFUSALS 3 // HostPool.mostRefusals

// The first request is a GET (TransferRequest.allowsResend), and the others are POSTs. The last of them has a source
// for its body (EngineJob.upload). Until the source is read, it is like a POST with its body in memory.
#define allowsResend(r) (r == 0)
#define isUpload(r) (r == upload)

mtype = {
  // HostMachine.Event
  arrived, arrivedInFront, returned, left, opened, openedMultiplexed, wasted, failed, becameFree, lost, idleClosed,
  roomChanged, streamClosed, notOpened, retired, ended, serviceDue, drains, drainEnded,
  // HostMachine.Step
  startOnIdle, startOnFree, openStream, beginDial, cancelDial, failRequest, closeConnection, endDrain,
  // Exchange.isWaiting, isRunning and isOver, and Exchange.Rest.drained: the job is answered, and the rest of a
  // redirect is still read.
  unborn, waiting, running, draining, over,
  // The progress of a request on its connection: HTTP2RequestPhase.queued, sent, and HTTP2AnswerPhase.begun.
  queued, sent, begun,
  // Choices of the surroundings.
  arrives, isCancelled, opens1, opens2, dialFails, dialIsWasted, dies, idleEnds, goesAway, breaks, allows,
  begins, finishes, finishesUnfit, finishesAndCloses, answersAtHead, refuses, resets, sends, reads, serves
}

// MARK: State

// The scenario: the number of requests, the one whose body has a source, the number of faults that are left, and
// whether the server speaks HTTP/1.1 only.
#define ANY 99
byte requests, upload, faults;
bool speaksHTTP1;
#define mayFail (faults > 0)

// HostMachine.
byte queue[REQUESTS], queueCount;
byte idle[CONNECTIONS], idleCount;         // the most recently used last
byte runningCount;
byte drained[CONNECTIONS], drainedCount;   // the requests that drain, the oldest first
byte dialCount;
byte sessions[CONNECTIONS], sessionCount;  // the oldest first
byte streamCount;
byte open[SLOTS];                          // Session.open
byte room[SLOTS];                          // Session.room.free
bool isRetired[SLOTS];
byte knownAtDial;                          // the requests with enteredAt <= dialBeganAt, one bit each
mtype spoke = unborn;                      // HostVersions.spokeHTTP2: nil, opened (HTTP/1.1), openedMultiplexed

// HostPool, with its connections.
mtype kind[SLOTS] = unborn;                // none, opened (HTTP/1.1), openedMultiplexed
bool served[SLOTS];                        // HTTPConnection.exchanges > 0
bool wentAway[SLOTS];                      // HTTP2Session.goAway or loss
bool isDead[SLOTS];                        // closed by the server, which the client has not noticed
byte allowed[SLOTS];                       // HTTP2Session.allowedStreams
byte received[SLOTS];                      // the request that the server received over HTTP/1.1, from 1
byte realDials;
bool isAwaitingService;

// Exchange and EngineJob.
mtype state[REQUESTS] = unborn;
mtype progress[REQUESTS] = unborn;
byte on[REQUESTS];                         // Exchange.connection
byte rank[REQUESTS];                       // the order of the open streams of a connection, from 1
bool isOnReused[REQUESTS];
bool wantsFresh[REQUESTS];
bool requestSent[REQUESTS];
bool sourceRead[REQUESTS];                 // Exchange.uploadOffset > 0
byte resends[REQUESTS];
byte refusals[REQUESTS];

// The truth about requests, for assertions.
byte sendings[REQUESTS];
byte processings[REQUESTS];                // ended sendings that the server may have processed
bool wasBegun[REQUESTS];
bool wasSourceRead[REQUESTS];
bool wasAnswered[REQUESTS];

// Events and steps of one turn. Both are empty between two choices.
chan events = [8] of { mtype, byte, byte };
chan steps = [10] of { mtype, byte, byte };

// Variables of one turn, which are no part of the state. A turn does not change its choice; `subject` is a request or a
// connection.
chan choices = [0] of { bit };
hidden mtype choice;
hidden byte subject, lastStream, seesEnd;
hidden mtype event, step, ending = unborn;
hidden byte who, number, a, b, x, y, z, i, j, k, n, found, place, low, last, wasFound, saysSent, isClosing;
hidden byte closing = NONE, again = NONE, answered = NONE;

// MARK: - HostMachine

#define expectsHTTP2 (spoke != opened)
#define mayDial (runningCount + idleCount + dialCount + sessionCount < CONNECTIONS)
#define hasRoomAt(s) (s < sessionCount && room[sessions[s]] > 0)
#define hasRoom (streamCount < STREAMS && (hasRoomAt(0) || hasRoomAt(1)))
#define helpsAt(s) (s < sessionCount && (room[sessions[s]] > 0 || open[sessions[s]] == 0))
#define mayGrow (streamCount < STREAMS && !helpsAt(0) && !helpsAt(1))
#define wantService isAwaitingService = true

inline append(r) {
  queue[queueCount] = r;
  queueCount++
}

inline prepend(r) {
  i = queueCount;
  do
  :: i > 0 -> queue[i] = queue[i - 1]; i--
  :: else -> break
  od;
  queue[0] = r;
  queueCount++
}

// WaitingQueue.remove(_:): sets wasFound.
inline removeFromQueue(r) {
  i = (queueCount > 0 && queue[0] == r -> 0 :
    (queueCount > 1 && queue[1] == r -> 1 : (queueCount > 2 && queue[2] == r -> 2 : NONE)));
  wasFound = i != NONE;
  queue[0] = (i == 0 -> queue[1] : queue[0]);
  queue[1] = (i <= 1 -> queue[2] : queue[1]);
  queue[2] = (i <= 2 -> 0 : queue[2]);
  queueCount = queueCount - wasFound
}

#define mayPop(s, isFresh) (s < queueCount && (isFresh || !wantsFresh[queue[s]]))

// WaitingQueue.popFirst(isFresh:): sets found, to NONE if there is none.
inline popFirst(isFresh) {
  found = (mayPop(0, isFresh) -> queue[0] : (mayPop(1, isFresh) -> queue[1] : (mayPop(2, isFresh) -> queue[2] : NONE)));
  removeFromQueue(found)
}

// Removes an element of a list of at most two: sets wasFound.
#define removeFromPair(list, count, v) \
  i = (count > 0 && list[0] == v -> 0 : (count > 1 && list[1] == v -> 1 : NONE)); \
  wasFound = i != NONE; \
  list[0] = (i == 0 -> list[1] : list[0]); \
  list[1] = (i <= 1 -> 0 : list[1]); \
  count = count - wasFound

#define isSession(c) ((sessionCount > 0 && sessions[0] == c) || (sessionCount > 1 && sessions[1] == c))

// HostMachine.dial(now:_:)
inline dial() {
  dialCount++;
  knownAtDial = (state[0] != unborn) + 2 * (state[1] != unborn) + 4 * (state[2] != unborn);
  steps!beginDial(0, 0)
}

// HostMachine.dialForWaiting(now:_:)
inline dialForWaiting() {
  if
  :: queueCount == 0 || (expectsHTTP2 && !mayGrow)
  :: else ->
    do
    :: dialCount < (expectsHTTP2 -> 1 : queueCount) && dialCount < DIALS ->
      if
      :: !mayDial && wantsFresh[queue[dialCount]] && idleCount > 0 ->
        n = idle[0];
        removeFromPair(idle, idleCount, n);
        steps!closeConnection(n, 0)
      :: else
      fi;
      if
      :: mayDial -> dial()
      :: else ->
        if
        :: drainedCount > 0 -> n = drained[0]; removeFromPair(drained, drainedCount, n); steps!endDrain(n, 0)
        :: else
        fi;
        break
      fi
    :: else -> break
    od
  fi
}

// HostMachine.start(_:onIdle:_:), with the connection that was used last.
inline startOnLatestIdle(r) {
  idleCount--;
  steps!startOnIdle(r, idle[idleCount]);
  idle[idleCount] = 0;
  runningCount++
}

// HostMachine.startMultiplexed(_:_:), if hasRoom.
inline startMultiplexed(r) {
  n = sessions[0];
  if
  :: room[n] == 0 -> n = sessions[1]
  :: else
  fi;
  streamCount++;
  open[n]++;
  room[n]--;
  steps!openStream(r, n)
}

// HostMachine.arrived(_:isFront:now:_:)
inline machineArrived(r, isFront) {
  if
  :: queueCount == 0 && hasRoom -> startMultiplexed(r)
  :: !(queueCount == 0 && hasRoom) && !wantsFresh[r] && idleCount > 0 -> startOnLatestIdle(r)
  :: else ->
    if
    :: isFront -> prepend(r)
    :: else -> append(r)
    fi;
    dialForWaiting()
  fi
}

// HostMachine.left(_:_:)
inline machineLeft(r) {
  removeFromQueue(r);
  do
  :: wasFound && dialCount > queueCount -> dialCount--; steps!cancelDial(0, 0)
  :: else -> break
  od
}

// HostMachine.serve(now:_:)
inline serve() {
  do
  :: hasRoom && queueCount > 0 -> popFirst(true); startMultiplexed(found)
  :: else -> break
  od;
  do
  :: idleCount > 0 ->
    popFirst(false);
    if
    :: found == NONE -> break
    :: else -> startOnLatestIdle(found)
    fi
  :: else -> break
  od;
  dialForWaiting()
}

// HostMachine.dialFailed(isLate:now:_:), not late.
inline dialFailed() {
  if
  :: expectsHTTP2 ->
    k = 0;
    do
    :: k < REQUESTS ->
      if
      :: knownAtDial & (1 << k) ->
        removeFromQueue(k);
        if
        :: wasFound -> steps!failRequest(k, 0)
        :: else
        fi
      :: else
      fi;
      k++
    :: else -> break
    od
  :: else ->
    popFirst(true);
    if
    :: found != NONE -> steps!failRequest(found, 0)
    :: else
    fi
  fi;
  dialForWaiting()
}

// HostMachine.free(_:_:now:_:)
inline machineFree(c, isFit) {
  found = NONE;
  if
  :: isFit -> popFirst(!served[c])
  :: else
  fi;
  if
  :: found != NONE -> steps!startOnFree(found, c)
  :: else ->
    runningCount--;
    if
    :: isFit -> idle[idleCount] = c; idleCount++
    :: else -> steps!closeConnection(c, 0)
    fi
  fi;
  dialForWaiting()
}

// HostMachine.streamClosed(_:_:_:)
inline machineStreamClosed(c, free) {
#ifndef BUG_NO_SERVICE
  wantService;
#endif
  if
  :: isSession(c) ->
    streamCount--;
    open[c]--;
    room[c] = free
  :: !isSession(c) && isRetired[c] ->
    streamCount--;
    open[c]--;
    if
    :: open[c] == 0 -> isRetired[c] = false; steps!closeConnection(c, 0)
    :: else
    fi
  :: else
  fi
}

// HostMachine.retire(_:_:)
inline machineRetire(c) {
  removeFromPair(sessions, sessionCount, c);
  if
  :: wasFound ->
    wantService;
    room[c] = 0;
    if
    :: open[c] == 0 -> steps!closeConnection(c, 0)
    :: else -> isRetired[c] = true
    fi
  :: else
  fi
}

// HostMachine.ended(_:_:)
inline machineEnded(c) {
  removeFromPair(sessions, sessionCount, c);
  if
  :: wasFound || isRetired[c] -> streamCount = streamCount - open[c]
  :: else
  fi;
  isRetired[c] = false;
  open[c] = 0;
  room[c] = 0;
  wantService
}

// HostMachine.decide(_:now:_:)
inline handle() {
  if
  :: event == arrived -> machineArrived(a, false)
  :: event == arrivedInFront -> machineArrived(a, true)
  :: event == returned -> prepend(a); wantService
  :: event == left -> machineLeft(a)
  :: event == opened -> dialCount--; runningCount++
  :: event == openedMultiplexed ->
    dialCount--;
    sessions[sessionCount] = a;
    sessionCount++;
    room[a] = b;
    serve()
  :: event == wasted ->
    dialCount--;
    popFirst(true);
    if
    :: found != NONE -> steps!failRequest(found, 0)
    :: else
    fi;
    dialForWaiting()
  :: event == failed -> dialCount--; dialFailed()
  :: event == becameFree -> machineFree(a, b)
  :: event == lost ->
    runningCount--;
#ifndef BUG_NO_DIAL
    dialForWaiting()
#endif
  :: event == idleClosed ->
    removeFromPair(idle, idleCount, a);
    if
    :: wasFound -> steps!closeConnection(a, 0); dialForWaiting()
    :: else
    fi
  :: event == roomChanged ->
    if
    :: isSession(a) && room[a] != b -> room[a] = b; wantService
    :: else
    fi
  :: event == streamClosed || event == notOpened -> machineStreamClosed(a, b)
  :: event == retired -> machineRetire(a)
  :: event == ended -> machineEnded(a)
  :: event == serviceDue -> serve()
  :: event == drains ->
    drained[drainedCount] = a;
    drainedCount++;
#ifndef BUG_KEEP_DRAIN
    dialForWaiting()
#endif
  :: event == drainEnded -> removeFromPair(drained, drainedCount, a)
  fi
}

// MARK: - HostPool

#define isUser(r) (state[r] == running || state[r] == draining)
#define isOn(r, c) (isUser(r) && on[r] == c)
#define users(c) (isOn(0, c) + isOn(1, c) + isOn(2, c))
#define user(c) (isOn(0, c) -> 0 : (isOn(1, c) -> 1 : (isOn(2, c) -> 2 : NONE)))
// HTTP2Session.freeStreams
#define freeStreams(c) ((wentAway[c] || allowed[c] < users(c)) -> 0 : allowed[c] - users(c))

inline clear(c) {
  kind[c] = unborn;
  served[c] = false;
  wentAway[c] = false;
  isDead[c] = false;
  allowed[c] = 0;
  received[c] = 0
}

// HTTP2Multiplexer.forget(_:): detaches a stream from its request, whose state the caller sets.
inline forget(r, next) {
  x = on[r];
  y = rank[r];
  state[r] = next;
  progress[r] = unborn;
  on[r] = 0;
  rank[r] = 0;
  isOnReused[r] = false;
  rank[0] = rank[0] - (isOn(0, x) && rank[0] > y);
  rank[1] = rank[1] - (isOn(1, x) && rank[1] > y);
  rank[2] = rank[2] - (isOn(2, x) && rank[2] > y)
}

// Exchange.rewind()
inline rewind(r) {
  forget(r, waiting);
  sourceRead[r] = false
}

// HTTPEngine.answer(_:_:facts:upgraded:)
inline answer(r, isSent) {
  answered = r;
  saysSent = isSent
}

// EngineJob.finish(_:facts:): a failure that says that nothing was sent lets the stack's policy send any request again.
inline giveAnswer() {
  assert(!wasAnswered[answered]);
  assert(saysSent || resends[answered] > refusals[answered] || processings[answered] == 0);
  wasAnswered[answered] = true;
  // States that differ in nothing else are equivalent.
  wantsFresh[answered] = false;
  requestSent[answered] = false;
  sourceRead[answered] = false;
  resends[answered] = 0;
  refusals[answered] = 0;
  sendings[answered] = 0;
  processings[answered] = 0;
  wasBegun[answered] = false;
  wasSourceRead[answered] = false;
  answered = NONE
}

// HostPool.lose(_:): closes a connection of HTTP/1.1 that was in use.
inline lose(c) {
  clear(c);
  events!lost(c, 0)
}

// HostPool.conclude(_:_:), and the runner's leave(_:), for a request that failed or was cancelled.
inline conclude(r) {
  if
  :: state[r] == waiting ->
    state[r] = over;
    events!left(r, 0)
  :: state[r] == running && kind[on[r]] == opened ->
    a = on[r];
    forget(r, over);
#ifdef BUG_KEEP_CANCELLED
    events!becameFree(a, true)
#else
    lose(a)
#endif
  :: else ->
    a = on[r];
    forget(r, over);
#ifndef BUG_LOSE_STREAM
    events!streamClosed(a, freeStreams(a))
#endif
  fi;
  answer(r, requestSent[r])
}

// HostPool.mayResend(_:isUnprocessed:): sets wasFound. sourceRead is that of the attempt that has ended.
inline mayResend(r, isUnprocessed) {
#ifdef BUG_READ_TWICE
  wasFound = resends[r] < (isUnprocessed -> MOST_REFUSALS : 1);
#else
  wasFound = resends[r] < (isUnprocessed -> MOST_REFUSALS : 1) && !(isUpload(r) && sourceRead[r]);
#endif
  if
  :: wasFound && requestSent[r] ->
#ifndef BUG_RESEND_POST
    wasFound = isUnprocessed || allowsResend(r);
#endif
    if
    :: wasFound ->
      resends[r]++;
      refusals[r] = refusals[r] + isUnprocessed
    :: else
    fi
  :: else
  fi
}

// The connection of an HTTP/1.1 request, or of one that drains, has ended: HTTP1Session.fail(_:_:) and
// HostPool.sendAgain(_:).
inline lostUnderRequest(c) {
  a = user(c);
  wasFound = false;
  processings[a] = processings[a] + (progress[a] != queued);
  if
  :: progress[a] != begun && isOnReused[a] -> mayResend(a, false)
  :: else
  fi;
  if
  :: wasFound ->
    rewind(a);
    wantsFresh[a] = true;
    lose(c);
    events!arrivedInFront(a, 0)
  :: !wasFound && state[a] == draining ->
    events!drainEnded(a, 0);
    forget(a, over);
    lose(c)
  :: else ->
    forget(a, over);
    lose(c);
    answer(a, requestSent[a])
  fi
}

// HTTP2Multiplexer.forget(_:) and HTTP2Call.closed(_:) for the stream of request `number`. `ending` is one of `resets`
// (HTTP2Ending.reset), `lost` (HTTP2Ending.lost), and `refuses` (HTTP2Ending.unprocessed: REFUSED_STREAM, above GOAWAY,
// or unsent if the request is still `queued`).
inline endStream() {
  place = on[number];
  wasFound = false;
  saysSent = ending == resets && requestSent[number];
  // The server has processed nothing of a stream that it refused, or that is above the last one of its GOAWAY.
  processings[number] = processings[number] + (
    progress[number] != queued && !(ending == refuses && (closing == NONE || rank[number] > low)));
  if
  :: ending != resets && progress[number] == queued && !(isUpload(number) && sourceRead[number]) ->
    // HostPool.restart(_:orFail:)
    wasFound = true
  :: progress[number] != queued && ending == refuses -> mayResend(number, true)
  :: progress[number] != queued && ending == lost ->
    // HostPool.sendAgain(_:isUnprocessed:)
    saysSent = requestSent[number];
    if
    :: progress[number] != begun && isOnReused[number] -> mayResend(number, false)
    :: else
    fi
  :: else
  fi;
  if
  :: wasFound ->
    forget(number, waiting);
    sourceRead[number] = false;
    events!streamClosed(place, freeStreams(place));
    events!returned(number, 0)
  :: else ->
    // Exchange.nothingWasProcessed() after `refuses`.
    forget(number, over);
    events!streamClosed(place, freeStreams(place));
    answer(number, saysSent)
  fi;
  ending = unborn
}

// HTTP2Multiplexer.connectionEnded(_:): all streams end, one after the other, and then the connection.
inline endMultiplexer(c) {
  wentAway[c] = true;
  closing = c;
  last = 0;
  isClosing = true
}

// Ends the next stream of a connection that has ended, or that received GOAWAY.
inline endNextStream() {
  if
  :: users(closing) > last ->
    number = (isOn(0, closing) && rank[0] == last + 1 -> 0 : (isOn(1, closing) && rank[1] == last + 1 -> 1 : 2));
    ending = (isClosing && progress[number] != queued -> lost : refuses)
  :: users(closing) <= last ->
    if
    :: isClosing ->
      clear(closing);
      events!retired(closing, 0);
      events!ended(closing, 0)
    :: else
    fi;
    if
    :: again != NONE ->
      events!notOpened(closing, 0);
      events!arrivedInFront(again, 0);
      again = NONE
    :: else
    fi;
    closing = NONE
  fi
}

// HostPool.start(_:_:wasIdle:)
inline start(r, c) {
  assert(state[r] == waiting && kind[c] == opened && users(c) == 0);
  if
  :: step == startOnIdle && isDead[c] && seesEnd ->
    // HTTPConnection.isFitAfterIdling is false.
    lose(c);
    events!arrivedInFront(r, 0)
  :: else ->
    state[r] = running;
    progress[r] = queued;
    on[r] = c;
    isOnReused[r] = served[c];
    served[c] = true
  fi
}

// HostPool.open(_:_:) with HTTP2Multiplexer.checkFitness() and start(_:).
inline openOn(r, c) {
  assert(state[r] == waiting);
  if
  :: kind[c] != openedMultiplexed -> events!returned(r, 0)
  :: kind[c] == openedMultiplexed && users(c) == 0 && isDead[c] && seesEnd ->
    // HTTP2Multiplexer.readIfIdle() finds the end.
    endMultiplexer(c);
    again = r
  :: else ->
    assert(freeStreams(c) > 0);
    rank[r] = users(c) + 1;
    state[r] = running;
    progress[r] = queued;
    on[r] = c;
    isOnReused[r] = served[c];
    served[c] = true
  fi
}

#define isIdle (answered == NONE && ending == unborn)

// HostPool.tell(_:) and perform(_:), until nothing is left to do.
inline settle() {
  do
  :: answered != NONE -> giveAnswer()
  :: answered == NONE && ending != unborn -> endStream()
  :: isIdle && nempty(events) -> events?event(a, b); handle()
  :: isIdle && empty(events) && closing != NONE -> endNextStream()
  :: isIdle && empty(events) && closing == NONE && nempty(steps) ->
    steps?step(who, place);
    if
    :: step == startOnIdle || step == startOnFree -> start(who, place)
    :: step == openStream -> openOn(who, place)
    :: step == beginDial -> realDials++
    :: step == cancelDial -> realDials--
    :: step == failRequest -> state[who] = over; answer(who, false)
    :: step == endDrain ->
      // HostPool.conclude(_:_:)
      place = on[who];
      events!drainEnded(who, 0);
      forget(who, over);
      lose(place)
    :: step == closeConnection ->
      assert(users(who) == 0);
      if
      :: kind[who] == openedMultiplexed -> events!ended(who, 0)
      :: else
      fi;
      clear(who)
    fi
  :: isIdle && empty(events) && closing == NONE && empty(steps) -> break
  od
}

// MARK: - Choices

// The connection accepts bytes of the request: HTTP1Session.recordSent(_:of:_:), HTTP2Call.recordSentHead().
inline send(r) {
  if
  :: kind[on[r]] == openedMultiplexed && wentAway[on[r]] ->
    // nghttp2 sends no request after GOAWAY.
    number = r;
    ending = refuses
  :: else ->
    // A request of which a part of a response was delivered is never sent again.
    assert(!wasBegun[r]);
    // A request that the server may have processed is sent again once, and only if that does no harm.
    assert(processings[r] == 0 || (processings[r] == 1 && allowsResend(r)));
    assert(sendings[r] <= MOST_REFUSALS);
    // A source is read once.
    assert(!wasSourceRead[r] || sourceRead[r]);
    progress[r] = sent;
    requestSent[r] = true;
    sendings[r]++;
    if
    :: kind[on[r]] == opened -> received[on[r]] = r + 1
    :: else
    fi
  fi
}

// The response is complete: HostPool.conclude(_:_:) without a failure. Over HTTP/1.1 the connection can be used again,
// or is too old for that, or is closed by its server.
inline finish(r) {
  a = on[r];
  received[a] = 0;
  n = state[r];
  forget(r, over);
  if
  :: n == draining -> events!drainEnded(r, 0)
  :: else
  fi;
  if
  :: kind[a] == openedMultiplexed -> events!streamClosed(a, freeStreams(a))
  :: kind[a] == opened && choice == finishes -> events!becameFree(a, true)
  :: kind[a] == opened && choice == finishesUnfit -> events!becameFree(a, false)
  :: kind[a] == opened && choice == finishesAndCloses -> lose(a)
  fi;
  if
  :: n == draining
  :: else -> answer(r, true)
  fi
}

// HTTP2Session.goingAway(_:): the last stream that the server may have processed is the one of rank `low`.
inline goAway(c) {
  wentAway[c] = true;
  events!retired(c, 0);
  closing = c;
#ifdef BUG_GOAWAY
  last = 0;
#else
  last = low;
#endif
  isClosing = false
}

// A dial succeeds: HostPool.opened(_:). Sets place.
inline openSlot() {
  realDials--;
  n = 0;
  do
  :: n < SLOTS && kind[n] != unborn -> n++
  :: else -> break
  od;
  assert(n < SLOTS);
  place = n
}

#define isFault \
  (choice == isCancelled || choice == dies || choice == idleEnds || choice == goesAway || choice == allows || \
    choice == refuses || choice == resets || choice == dialFails || choice == dialIsWasted || \
    (choice == breaks && !isDead[subject]))

inline makeChoice() {
  if
  :: faults != ANY && isFault -> faults--
  :: else
  fi;
  who = subject;
  place = subject;
  low = lastStream;
  if
  :: choice == arrives -> state[who] = waiting; events!arrived(who, 0)
  :: choice == isCancelled -> conclude(who)
  :: choice == opens1 ->
    openSlot();
    kind[place] = opened;
    spoke = opened;
    events!opened(0, 0);
    events!becameFree(place, true)
  :: choice == opens2 ->
    openSlot();
    kind[place] = openedMultiplexed;
    allowed[place] = low;
    spoke = openedMultiplexed;
    events!openedMultiplexed(place, low)
  :: choice == dialFails -> realDials--; events!failed(0, 0)
  :: choice == dialIsWasted -> realDials--; events!wasted(0, 0)
  :: choice == dies -> isDead[place] = true
  :: choice == idleEnds ->
    if
    :: kind[place] == opened -> events!idleClosed(place, 0)
    :: else -> events!retired(place, 0)
    fi
  :: choice == goesAway -> goAway(place)
  :: choice == breaks ->
    if
    :: kind[place] == opened -> lostUnderRequest(place)
    :: else -> endMultiplexer(place)
    fi
  :: choice == allows -> allowed[place] = 3 - allowed[place]; events!roomChanged(place, freeStreams(place))
  :: choice == begins -> progress[who] = begun; isOnReused[who] = false; wasBegun[who] = true
  :: choice == finishes || choice == finishesUnfit || choice == finishesAndCloses -> finish(who)
  :: choice == answersAtHead -> state[who] = draining; answer(who, true); events!drains(who, 0)
  :: choice == refuses -> number = who; ending = refuses
  :: choice == resets -> number = who; ending = resets
  :: choice == sends -> send(who)
  :: choice == reads ->
    assert(!wasSourceRead[who]);
    sourceRead[who] = true;
    wasSourceRead[who] = true
  :: choice == serves -> isAwaitingService = false; events!serviceDue(0, 0)
  fi
}

// MARK: - Invariants

#define oneIf(x) ((x) -> 1 : 0)
#define isKind(c, k) oneIf(kind[c] == k)
#define all(k) (isKind(0, k) + isKind(1, k) + isKind(2, k) + isKind(3, k))
#define retiredCount (isRetired[0] + isRetired[1] + isRetired[2] + isRetired[3])
#define openCount (open[0] + open[1] + open[2] + open[3])
#define states(s) (oneIf(state[0] == s) + oneIf(state[1] == s) + oneIf(state[2] == s))
#define runsOver(r, k) oneIf(isUser(r) && kind[on[r]] == k)
#define runOver(k) (runsOver(0, k) + runsOver(1, k) + runsOver(2, k))
#define waitsForAny(r) (state[r] == waiting && !wantsFresh[r])
#define hasRealRoomAt(s) (s < sessionCount && freeStreams(sessions[s]) > 0)
// Whether the server of a connection received another request than the one that awaits a response on it.
#define mistakes(c) (received[c] != 0 && user(c) != NONE && user(c) != received[c] - 1)

#define exchangeBytes(f) z = f[i]; f[i] = f[j]; f[j] = z
#define renamed(v) (v == i -> j : (v == j -> i : v))

// Exchanges the places i and j of two connections.
inline exchangeSlots() {
  exchangeBytes(kind);
  exchangeBytes(served);
  exchangeBytes(wentAway);
  exchangeBytes(isDead);
  exchangeBytes(allowed);
  exchangeBytes(received);
  exchangeBytes(open);
  exchangeBytes(room);
  exchangeBytes(isRetired);
  on[0] = (isUser(0) -> renamed(on[0]) : 0);
  on[1] = (isUser(1) -> renamed(on[1]) : 0);
  on[2] = (isUser(2) -> renamed(on[2]) : 0);
  idle[0] = (idleCount > 0 -> renamed(idle[0]) : 0);
  idle[1] = (idleCount > 1 -> renamed(idle[1]) : 0);
  sessions[0] = (sessionCount > 0 -> renamed(sessions[0]) : 0);
  sessions[1] = (sessionCount > 1 -> renamed(sessions[1]) : 0)
}

// Orders the places of the connections by their requests, because states that differ in nothing else are equivalent.
inline tidy() {
  i = 0;
  n = 0;
  do
  :: n < REQUESTS + 2 * CONNECTIONS ->
    j = NONE;
    if
    :: n < REQUESTS ->
      if
      :: isUser(n) -> j = on[n]
      :: else
      fi
    :: n >= REQUESTS && n < REQUESTS + CONNECTIONS && n - REQUESTS < idleCount -> j = idle[n - REQUESTS]
    :: n >= REQUESTS + CONNECTIONS && n - REQUESTS - CONNECTIONS < sessionCount ->
      j = sessions[n - REQUESTS - CONNECTIONS]
    :: else
    fi;
    if
    :: j != NONE && j > i -> exchangeSlots(); i++
    :: j == i -> i++
    :: else
    fi;
    n++
  :: else -> break
  od;
  if
  :: dialCount == 0 -> knownAtDial = 0
  :: else
  fi
}

// Asserts the rules that hold after every turn.
inline check() {
  // Connections and dials stay within the limits, and each is counted once.
  assert(dialCount == realDials && dialCount <= DIALS);
  assert(all(opened) + all(openedMultiplexed) - retiredCount + realDials <= CONNECTIONS);
  assert(all(opened) == runningCount + idleCount);
  assert(all(openedMultiplexed) == sessionCount + retiredCount);
  // Every connection in use and every stream belongs to one request, and is returned when the request ends.
  assert(runningCount == runOver(opened));
  assert(streamCount == runOver(openedMultiplexed) && streamCount == openCount && streamCount <= STREAMS);
  // The queue has the requests that wait.
  assert(queueCount == states(waiting));
  // No request waits beside a connection that may serve it.
  assert(isAwaitingService || idleCount == 0 || !(waitsForAny(0) || waitsForAny(1) || waitsForAny(2)));
  assert(isAwaitingService || queueCount == 0 || streamCount == STREAMS || !(hasRealRoomAt(0) || hasRealRoomAt(1)));
  // No request waits while no dial and no other request is under way.
  assert(isAwaitingService || queueCount == 0 || dialCount > 0 || states(running) + states(draining) > 0);
  // No request waits beside a connection that only drains, whose place a new one could take.
  assert(drainedCount == states(draining));
  assert(isAwaitingService || drainedCount == 0 || dialCount >= queueCount || dialCount >= DIALS ||
    (expectsHTTP2 && (dialCount > 0 || !mayGrow)));
  // No request gets the response to another request.
  assert(!mistakes(0) && !mistakes(1) && !mistakes(2) && !mistakes(3))
}

// MARK: - Processes

// Performs each choice and its consequences.
active proctype Turns() {
  end: do
  :: atomic { choices?_ -> d_step { makeChoice(); settle(); tidy(); check() } }
  od
}

#define anyDead (isDead[0] || isDead[1] || isDead[2] || isDead[3])
// Hands the choice over, and chooses whether a closed connection is noticed as closed when a request is started on it.
#define turn() if :: seesEnd = true :: anyDead -> seesEnd = false fi; choices!true
#define multiplexed(r) (kind[on[r]] == openedMultiplexed)
#define live(r) (isUser(r) && !isDead[on[r]])

// The loop sends queued requests, and serves the host when its turn ends.
#define SENDS(r) :: state[r] == running && progress[r] == queued -> choice = sends; subject = r

active proctype Loop() {
  end: do
  :: atomic {
    if
    SENDS(0) SENDS(1) SENDS(2)
    :: isAwaitingService -> choice = serves
    fi;
    turn()
  }
  od
}

// The server responds to the requests that it has received. A slow redirect is answered at its head.
#define SERVER(r) \
  :: live(r) && progress[r] == sent -> choice = begins; subject = r \
  :: live(r) && progress[r] == begun -> choice = finishes; subject = r \
  :: live(r) && progress[r] == begun && !multiplexed(r) -> choice = finishesUnfit; subject = r \
  :: live(r) && progress[r] == begun && !multiplexed(r) -> choice = finishesAndCloses; subject = r \
  :: live(r) && progress[r] == begun && !multiplexed(r) && state[r] == running -> choice = answersAtHead; subject = r \
  :: mayFail && live(r) && multiplexed(r) && progress[r] == sent -> choice = refuses; subject = r \
  :: mayFail && live(r) && multiplexed(r) && progress[r] != queued -> choice = resets; subject = r

active proctype Server() {
  end: do
  :: atomic {
    if
    SERVER(0) SERVER(1) SERVER(2)
    fi;
    turn()
  }
  od
}

// Dials end, and a request that was sent on a closed connection loses it.
#define BREAKS(c) :: isDead[c] && users(c) > 0 -> choice = breaks; subject = c

active proctype Network() {
  end: do
  :: atomic {
    if
    :: realDials > 0 -> choice = opens1
    :: realDials > 0 && !speaksHTTP1 -> choice = opens2; lastStream = 1
    :: realDials > 0 && !speaksHTTP1 -> choice = opens2; lastStream = 2
    :: mayFail && realDials > 0 -> choice = dialFails
    :: mayFail && realDials > 0 -> choice = dialIsWasted
    BREAKS(0) BREAKS(1) BREAKS(2) BREAKS(3)
    fi;
    turn()
  }
  od
}

// Requests arrive, callers cancel, and connections change and end. All of this may also not happen.
#define ARRIVES(r) \
  :: state[r] == unborn && r < requests -> choice = arrives; subject = r \
  :: mayFail && (state[r] == waiting || state[r] == running) -> choice = isCancelled; subject = r
#define CHANGES(c) \
  :: mayFail && kind[c] != unborn && users(c) == 0 && !isDead[c] -> choice = dies; subject = c \
  :: mayFail && kind[c] != unborn && users(c) == 0 -> choice = idleEnds; subject = c \
  :: mayFail && kind[c] != unborn && users(c) > 0 && !isDead[c] -> choice = breaks; subject = c \
  :: mayFail && kind[c] == openedMultiplexed && !isDead[c] && !wentAway[c] -> choice = allows; subject = c \
  :: mayFail && kind[c] == openedMultiplexed && !isDead[c] && (!wentAway[c] || leastLast(c) < users(c)) -> \
    choice = goesAway; subject = c; lastStream = users(c)
#define READS(r) \
  :: isUpload(r) && state[r] == running && !sourceRead[r] && (progress[r] != queued || multiplexed(r)) -> \
    choice = reads; subject = r
// The rank of the last stream to which the server has responded.
#define rankIf(r, c) ((isOn(r, c) && progress[r] == begun) -> rank[r] : 0)
#define larger(x, y) ((x) > (y) -> (x) : (y))
#define leastLast(c) larger(rankIf(0, c), larger(rankIf(1, c), rankIf(2, c)))

active proctype Chance() {
  atomic {
    if
#ifndef LIMITED
    :: requests = 3; upload = 2; faults = 2
    :: requests = 3; upload = 2; faults = ANY; speaksHTTP1 = true
    :: requests = 2; upload = 1; faults = ANY
#else
    :: requests = 3; upload = 2; faults = 0
    :: requests = 2; upload = 1; faults = 2
#endif
    fi
  }
  end: do
  :: atomic {
    if
    ARRIVES(0) ARRIVES(1) ARRIVES(2)
    CHANGES(0) CHANGES(1) CHANGES(2) CHANGES(3)
    READS(1) READS(2)
    fi;
    if
    :: choice == goesAway ->
      do
      :: lastStream > leastLast(subject) -> lastStream--
      :: !wentAway[subject] || lastStream < users(subject) -> break
      od
    :: else
    fi;
    turn()
  }
#ifdef LIMITED
  // Nothing more happens by chance.
  :: break
#endif
  od
}

#define isAtRest(r) (state[r] == unborn || state[r] == over)
#define isCalm (isAtRest(0) && isAtRest(1) && isAtRest(2))

// No fairness between processes is needed, because every run is finite: it ends when nothing more can happen. LIMITED
// has fewer requests and faults, because with any number of them GOAWAY could keep a request from being sent for ever.
ltl everyRequestEnds { <> [] isCalm }
