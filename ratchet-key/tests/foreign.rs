//! Keys of other languages: what fires, what stays silent, and where.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use ratchet_key::{Category, Code, MAX_FOREIGN_BYTES, Span, inspect_foreign};

fn codes(template: &str) -> Vec<Code> {
    inspect_foreign(template).iter().map(|finding| finding.code).collect()
}

/// Each expression, alone in a placeholder behind an id, gives one finding of this code.
fn fires(code: Code, expressions: &[&str]) {
    for expression in expressions {
        let template = format!("job-<order_id>-<{expression}>");
        assert_eq!(codes(&template), [code], "{template}");
    }
}

fn silent(templates: &[&str]) {
    for template in templates {
        assert_eq!(inspect_foreign(template), [], "{template}");
    }
}

#[test]
fn clocks_of_every_language() {
    fires(
        Code::R002,
        &[
            // JavaScript
            "Date.now()",
            "Date.now().toString(36)",
            "new Date().toISOString().split(\"T\")[0]",
            "new Date().getTime()",
            "+new Date",
            "Number(new Date)",
            "Math.floor(Date.now() / 60000)",
            "performance.now()",
            "process.hrtime.bigint()",
            "dayjs().format('YYYY-MM-DD')",
            "moment().unix()",
            // Python
            "int(time.time())",
            "time.time_ns()",
            "datetime.now(timezone.utc).isoformat()",
            "datetime.datetime.utcnow().strftime('%Y')",
            "date.today()",
            "time.strftime('%Y%m%d')",
            "timestamp.slice(0, 10)",
            "current_ist.strftime('%Y%m%d%H%M')",
            // Go
            "time.Now().UnixNano()",
            "time.Now().UTC().Truncate(10*time.Minute)",
            // Rust
            "Utc::now().timestamp_millis()",
            "SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis()",
            "OffsetDateTime::now_utc().unix_timestamp()",
            // Java, Kotlin
            "System.currentTimeMillis()",
            "System.nanoTime()",
            "Instant.now().toEpochMilli()",
            "LocalDate.now()",
            "this.clock.instant()",
            // C#
            "DateTime.UtcNow.Ticks",
            "DateTimeOffset.UtcNow.ToUnixTimeMilliseconds()",
            "now:yyyyMMddHHmmss",
            "Environment.TickCount64",
            "timeProvider.GetUtcNow()",
            // PHP, Ruby, Elixir, Perl
            "time()",
            "$orderId . time()",
            "microtime(true)",
            "date('YmdHis')",
            "Carbon::now()->timestamp",
            "Time.now.to_i",
            "Time.current",
            "Date.today",
            "System.system_time(:millisecond)",
            "DateTime.utc_now() |> DateTime.to_unix()",
            "localtime()",
        ],
    );
}

#[test]
fn random_values_of_every_language() {
    fires(
        Code::R003,
        &[
            // JavaScript
            "crypto.randomUUID()",
            "crypto.randomBytes(16).toString('hex')",
            "Math.random().toString(36).slice(2, 11)",
            "uuidv4()",
            "uuid.v4()",
            "nanoid(10)",
            "new ObjectId().toString()",
            "ulid()",
            "createId()",
            "faker.string.uuid()",
            // Python
            "uuid.uuid4().hex[:8]",
            "str(uuid4())",
            "os.urandom(4).hex()",
            "secrets.token_hex(8)",
            "random.randint(low, high)",
            "''.join(random.choices(letters, k=8))",
            // Go
            "uuid.NewString()",
            "uuid.Must(uuid.NewV7())",
            "uuid.New().String()",
            "rand.Int63()",
            "xid.New().String()",
            "ksuid.New()",
            // Rust
            "uuid::Uuid::new_v4()",
            "Uuid::now_v7().simple()",
            "rand::random::<u64>()",
            "rng.next_u64()",
            "Ulid::new()",
            "nanoid!()",
            // Java, Kotlin
            "UUID.randomUUID().toString().substring(0, 8)",
            "ThreadLocalRandom.current().nextInt()",
            "RandomStringUtils.randomAlphanumeric(10)",
            // C#
            "Guid.NewGuid().ToString(\"N\")",
            "Guid.CreateVersion7():N",
            "Path.GetRandomFileName()",
            // PHP, Ruby, Elixir, Perl
            "uniqid('', true)",
            "bin2hex(random_bytes(12))",
            "Str::uuid()->toString()",
            "SecureRandom.uuid",
            "SecureRandom.hex(8)",
            "Ecto.UUID.generate()",
            ":rand.uniform(1000)",
            "System.unique_integer([:positive])",
            "int(rand(1000))",
            "Data::UUID->new->create_str",
            // Without a value from which it could be made.
            "generateIdempotencyKey()",
            "generate_reference()",
            "newRequestId()",
            "uniqueSuffix()",
            "short_uid()",
            "'draw-'.uniqid()",
        ],
    );
}

#[test]
fn ids_that_are_computed_or_stored_are_not_random() {
    silent(&[
        "<uuid.uuid5(NAMESPACE, order.id)>",
        "<uuid.v5(order.id, NAMESPACE)>",
        "<Uuid::new_v5(&NS, order_id.as_bytes())>",
        "<UUID.nameUUIDFromBytes(orderId.getBytes())>",
        "<uuid.NewSHA1(space, []byte(orderID))>",
        "<UUID.fromString(request.id())>",
        "<Uuid::parse_str(&order_id)?>",
        "<new ObjectId(order.id)>",
        "<UUID(order.id)>",
        "<order.uuid>",
        "<order.uuid()>",
        "<order.getUuid()>",
        "<sale.get_id()>",
        "<generateKey(order.id)>",
        "<InventoryMovement::generateSaleKey(sale.getId(), line.getId())>",
        "<keys.forOperation(operationId)>",
    ]);
}

#[test]
fn attempts() {
    fires(
        Code::R001,
        &[
            "job.attemptsMade + 1",
            "attempts.length + 1",
            "len(attempts)",
            "task.getAttemptNumber()",
            "activity.GetInfo(ctx).Attempt",
            "message.Attributes[\"ApproximateReceiveCount\"]",
            "self.request.retries",
            "(state?.attempt ?? 0) + 1",
            "attempt_number:04d",
            "meta.Sequence.Consumer",
            "attempt > 1 ? 'again' : 'first'",
            "$job->attempts()",
            "job.reintentos",
        ],
    );
}

#[test]
fn a_literal_says_what_a_counter_counts() {
    for (template, word) in [
        ("<id>:attempt:<i + 1>", Some("attempt")),
        ("<id>-retry-<n>", Some("retry")),
        ("<id>:attempt:<state.n>", Some("attempt")),
        ("<id>#try<str(i)>", Some("try")),
        ("<id>:attempt:<attempt.id>", None),
        ("retry:<run_id>", None),
        ("retry-<n>-<id>-<i>", Some("retry")),
        ("entry:<i>", None),
        ("<id>:<i + 1>", None),
        ("<id>:page:<index>", None),
    ] {
        let found = inspect_foreign(template);
        let fired = found.first().map(|finding| (finding.code, finding.word.as_deref().unwrap_or_default()));
        assert_eq!(fired, word.map(|word| (Code::R001, word)), "{template}");
        assert!(found.len() < 2, "{template}");
    }
    assert_eq!(
        inspect_foreign("<id>-retry-<n>")[0].message,
        "`retry` before `<n>` counts attempts, so every retry would carry another key and nothing would be deduplicated"
    );
}

#[test]
fn personal_data_and_credentials_in_every_form() {
    fires(
        Code::R004,
        &[
            "user.getEmail()",
            "\"order-$email\"",
            "get_email()",
            "user.email.trim().toLowerCase()",
            "strtolower(trim($user->email))",
            "user&.email&.downcase",
            "user['email']",
            "params[:email]",
            "form.get('email', '')",
            "r.FormValue(\"email\")",
            "request.getParameter(\"email\")",
            "sha256(user.email)",
            "hashlib.sha256(user.email.encode()).hexdigest()",
            "createHash('sha256').update(`${user.email}:v1`).digest('hex')",
            "phone.replace(/\\D/g, \"\")",
            "(await getUser()).email",
            "'mail-' . $email",
        ],
    );
    fires(
        Code::R005,
        &["session.getAccessToken()", "headers['authorization']", "req.header(\"Authorization\")"],
    );
    assert_eq!(codes("email:<tenant_id>:<job.to>"), [Code::R004]);
    silent(&["move:<tenant_id>:<job.to>", "email-<email_id>", "email-<notification.id>"]);
}

#[test]
fn of_a_fallback_every_alternative_counts() {
    for (expression, expected) in [
        ("key ?? crypto.randomUUID()", Code::R003),
        ("input['key'] ?? 'return:' + bin2hex(random_bytes(12))", Code::R003),
        ("retryKey or uuid4()", Code::R003),
        ("event.get('id', uuid4())", Code::R003),
        ("key.unwrap_or_else(|| Uuid::new_v4())", Code::R003),
        ("id ?: UUID.randomUUID().toString()", Code::R003),
        ("messageId || Date.now()", Code::R002),
        ("user.id || user.email", Code::R004),
        ("user.id ? user.id : user.email", Code::R004),
        ("user.id if user.id else user.email", Code::R004),
        ("a.paid ? user.email : b.paid ? c.id : d.id", Code::R004),
    ] {
        assert_eq!(codes(&format!("<{expression}>")), [expected], "{expression}");
    }
}

#[test]
fn what_only_decides_is_not_in_the_key() {
    silent(&[
        "<order_id>:<user.email ? 'mail' : 'post'>",
        "<order_id>:<'mail' if user.email else 'post'>",
        "<a ? b.id : user.email ? c.id : d.id>",
    ]);
    assert_eq!(codes("<order_id>:<retry_count > 0 ? 'again' : 'first'>"), [Code::R001]);
}

#[test]
fn sound_keys_stay_silent() {
    silent(&[
        "<idempotency_key>",
        "<\"order-$id-$line\">",
        "<\"%s-%d\" |> sprintf(order.id, line)>",
        "<r.Header.Get(\"Idempotency-Key\")>",
        "<strings.TrimSpace(r.Header.Get(\"Idempotency-Key\"))>",
        "<request.getHeader(\"X-Request-Id\")>",
        "order:<event['id']>",
        "sha256(<a>|<b>)",
        "<sha256_hex(\"idempotency\", self.execution_id)>",
        "<hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()>",
        "<message.effective_date.timestamp()>",
        "<period.start.strftime('%Y-%m')>",
        "<slot.startsAt.toISOString()>",
        "<format_date(invoice.date)>",
        "<time.Unix(invoice.due, 0).Format(time.RFC3339)>",
        "<entry.date>",
        "<new Date(order.dueDate).toISOString()>",
        "<attempt.id>:<attempt.reference>",
        "<prompt.attempt_id>",
        "page-<i>",
        "<line.index + 1>",
        "<document.revision>:<round>:<version>",
        "<workflow.GetInfo(ctx).WorkflowExecution.ID>-child",
        "<items.collect::<Vec<u8>>()>",
        "<candidate.date()>",
        "<'order:'.$order->getKey().':v1'>",
        "<visit.id>:<visitAt.getTime()>",
        "<ref>",
        "slack:<channel_id>:<message_ts>",
    ]);
}

#[test]
fn a_key_in_which_nothing_varies() {
    for template in [
        "",
        "idem-123",
        "deploy:prod",
        "sha(\"evt\", \"webhook\", 0)",
        "<>",
        "sha256:<\"f\".repeat(64)>",
        "<'a' + 'b'>",
        "<sha256(\"a\")>:<1>",
        "<hashlib.sha256(b\"abc\").hexdigest()>",
        "<uuid.UUID(\"3f00aa31-36f0-4f05-8f4a-a362bf33a111\")>",
        "<Guid.Empty>",
        "<null>",
    ] {
        let found = inspect_foreign(template);
        assert_eq!(codes(template), [Code::R006], "{template}");
        assert_eq!(found[0].span, Some(Span { start: 0, end: template.len() }), "{template}");
        assert_eq!(found[0].word.as_deref(), Some("constant"), "{template}");
    }
}

#[test]
fn a_finding_says_what_fired_and_where() {
    let template = "é-<user.email || Date.now()>:<order.id>";
    let found = inspect_foreign(template);
    let [mail, clock] = found.as_slice() else { panic!("{found:?}") };
    let span = Some(Span { start: 3, end: 29 });
    assert_eq!(&template[3..29], "<user.email || Date.now()>");
    assert_eq!((mail.code, mail.span, mail.word.as_deref()), (Code::R004, span, Some("email")));
    assert_eq!((clock.code, clock.span, clock.word.as_deref()), (Code::R002, span, Some("now")));
    assert_eq!(mail.placeholder.as_deref(), Some("user.email || Date.now()"));
    assert_eq!(mail.category, Some(Category::DirectPii));
    assert_eq!(
        mail.render(template).lines().nth(3),
        Some("      ^^^^^^^^^^^^^^^^^^^^^^^^^^"),
        "{}",
        mail.render(template)
    );
    assert_eq!(
        inspect_foreign("<crypto.randomUUID()>")[0].message,
        "`crypto.randomUUID` in `<crypto.randomUUID()>` is a random value, so every attempt that draws it anew would \
         carry another key and nothing would be deduplicated"
    );
}

#[test]
fn what_is_not_closed_is_read_all_the_same() {
    assert_eq!(codes("a-<user.email"), [Code::R004]);
    assert_eq!(codes("<f(user.email>:<g(now>"), [Code::R004, Code::R002]);
    assert_eq!(codes("<user.email)>"), [Code::R004]);
    silent(&["<user's id>", "a > <b", "<a->b>", "<f(\"<\", order.id)>"]);
}

#[test]
fn the_text_is_bounded() {
    let longest = "<a>".to_owned() + &"x".repeat(MAX_FOREIGN_BYTES - 3);
    assert_eq!(inspect_foreign(&longest), []);
    let found = inspect_foreign(&(longest + "x"));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].span), (Code::R007, None));
    assert_eq!(found[0].message, "the template has 4097 bytes and 4096 are read");
}

#[test]
fn hostile_texts_of_full_length_take_no_time() {
    let pieces = [
        "<", ">", "<(", "<>", "(", "a(", "a.", "a().", "'", "\\'", "\"", "`${", "{", "<'", "a?b:", "!(",
        "n_", "/", ":a", "é(", "<now>", "?.", "if ", "else ", "get('", "::<",
    ];
    for piece in pieces {
        let mut text = String::from("<");
        while text.len() + piece.len() <= MAX_FOREIGN_BYTES {
            let _ = write!(text, "{piece}");
        }
        let started = Instant::now();
        let _ = inspect_foreign(&text);
        let took = started.elapsed();
        // Without optimisation and with other work on the machine; what grows with the square takes minutes.
        assert!(took < Duration::from_secs(5), "{piece:?} took {took:?}");
    }
}

/// Text that is nearly an expression.
fn nearly_an_expression() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z<>(){}\\[\\]'\"`.,:;?!|/+$@#\\\\ _A9é\t\u{202E}-]{0,60}",
        "(<|>|\\(|\\)|\\[|\\]|\\{|\\}|'|\"|`|\\$\\{|\\.|::|->|\\?|:|\\?\\?| |if|else|new|get|now|email|é|7|,){0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(text in nearly_an_expression()) {
        for finding in inspect_foreign(&text) {
            let span = finding.span.expect("only a text that is too long has no place");
            prop_assert!(text.get(span.start..span.end).is_some(), "{:?} of {:?}", span, text);
            prop_assert!(!finding.render(&text).is_empty());
            prop_assert!(finding.code <= Code::R006, "{:?}", finding);
            if let Some(placeholder) = finding.placeholder {
                prop_assert!(text[span.start..span.end].contains(placeholder.as_str()));
                prop_assert!(finding.word.is_some_and(|word| !word.is_empty()));
            }
        }
    }

    #[test]
    fn a_sound_template_is_judged_as_it_is_by_its_own_grammar(
        path in prop::sample::select(vec!["order.id", "user.email", "attempt", "now", "uuid", "session.token"]),
    ) {
        let text = format!("job:<{path}>");
        let own = ratchet_key::inspect(&ratchet_key::Template::parse(&text).expect("a sound template"));
        prop_assert_eq!(inspect_foreign(&text), own);
    }
}
