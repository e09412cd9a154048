-- A rule does what its author may. Not a reference: who wrote a rule is still known when their account is gone.

-- The user who last said what the rule does, or turned it on. NULL: nobody knows, and the rule runs once somebody saves it again.
ALTER TABLE automation_rules ADD COLUMN author_id TEXT;

-- Of rules from before: whoever made it, where the audit trail has that and nobody else ever changed it.
UPDATE automation_rules SET author_id = (
    SELECT MIN(a.user_id) FROM audit_logs a
    WHERE a.object_type = 'automation_rule' AND a.object_id = automation_rules.id
        AND a.action IN ('automation.rules.create', 'automation.rules.update')
    GROUP BY a.object_id
    HAVING COUNT(DISTINCT a.user_id) = 1 AND COUNT(a.user_id) = COUNT(*)
        AND SUM(CASE WHEN a.action = 'automation.rules.create' THEN 1 ELSE 0 END) > 0
);

-- The user who saved the rule last: it grabs while they may add torrents. NULL: nobody knows, and nobody is asked.
ALTER TABLE rss_rules ADD COLUMN author_id TEXT;

UPDATE rss_rules SET author_id = (
    SELECT a.user_id FROM audit_logs a
    WHERE a.object_type = 'rss_rule' AND a.object_id = rss_rules.id AND a.user_id IS NOT NULL
        AND a.action IN ('rss.rule.created', 'rss.rule.updated')
    ORDER BY a.created_at DESC, a.id DESC LIMIT 1
);
